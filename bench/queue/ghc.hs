-- GHC: a bounded queue with two producers and two consumers; see queue.hpp. Its bounded queue is stm's TBQueue; of
-- MVars alone, it is a Chan with a semaphore that counts the free places.
module Main (main) where

import Bench
import Control.Concurrent.Chan (newChan, readChan, writeChan)
import Control.Concurrent.QSem (newQSem, signalQSem, waitQSem)
import Control.Concurrent.STM (atomically, newTBQueueIO, readTBQueue, writeTBQueue)
import Data.Word (Word64)

capacity :: Int
capacity = 64

-- Has two producers call push and two consumers call pop, count times each.
run :: Int -> (Word64 -> IO ()) -> IO Word64 -> IO ()
run count push pop = do
  sums <- forkJoin [produce, consume, produce, consume]
  case sums of
    [given, taken, givenToo, takenToo] -> require (given + givenToo == taken + takenToo) "the queue lost an item"
    _ -> require False "a thread was lost"
  where
    produce = go 0 0
    go item total
      | item == fromIntegral count = return total
      | otherwise = total `seq` push item >> go (item + 1) (total + item)
    consume = repeated count (\total -> (total +) <$> pop) 0
{-# INLINE run #-}

main :: IO ()
main = do
  program <- newProgram "TBQueue: of stm; Chan: bounded by a QSem, of MVars" []
  measure program "TBQueue" [] "item" 2 $ \count -> do
    queue <- newTBQueueIO (fromIntegral capacity)
    run count (\item -> item `seq` atomically (writeTBQueue queue item)) (atomically (readTBQueue queue))
  measure program "Chan" [] "item" 2 $ \count -> do
    queue <- newChan
    free <- newQSem capacity
    run count (\item -> waitQSem free >> (item `seq` writeChan queue item)) (readChan queue <* signalQSem free)
