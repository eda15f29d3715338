-- GHC: messages through MVars; see channel.hpp. An MVar holds one message, which is capacity 1; a rendezvous has a
-- second one, to acknowledge. A buffer is stm's TBQueue, or a Chan bounded by a semaphore.
module Main (main) where

import Bench
import Control.Concurrent.Chan (newChan, readChan, writeChan)
import Control.Concurrent.MVar (newEmptyMVar, putMVar, takeMVar)
import Control.Concurrent.QSem (newQSem, signalQSem, waitQSem)
import Control.Concurrent.STM (atomically, newTBQueueIO, readTBQueue, writeTBQueue)
import Control.Monad (forM_)
import Data.Word (Word64)

data Message8 = Message8 {-# UNPACK #-} !Word64

data Message64 = Message64
  {-# UNPACK #-} !Word64 {-# UNPACK #-} !Word64 {-# UNPACK #-} !Word64 {-# UNPACK #-} !Word64
  {-# UNPACK #-} !Word64 {-# UNPACK #-} !Word64 {-# UNPACK #-} !Word64 {-# UNPACK #-} !Word64

class Message message where
  make :: Word64 -> message
  first :: message -> Word64

instance Message Message8 where
  make = Message8
  first (Message8 word) = word

instance Message Message64 where
  make word = Message64 word 0 0 0 0 0 0 0
  first (Message64 word _ _ _ _ _ _ _) = word

-- How a message is sent and received.
data Channel message = Channel (message -> IO ()) (IO message)

-- The channels of a capacity, by the names of their variants.
channels :: Int -> [(String, IO (Channel message))]
channels 0 = [("MVar-acknowledged", acknowledged)]
  where
    acknowledged = do
      box <- newEmptyMVar
      received <- newEmptyMVar
      return (Channel (\message -> putMVar box message >> takeMVar received) (takeMVar box <* putMVar received ()))
channels 1 = [("MVar", holdsOne)]
  where
    holdsOne = do
      box <- newEmptyMVar
      return (Channel (putMVar box) (takeMVar box))
channels capacity = [("TBQueue", queue), ("Chan", counted)]
  where
    queue = do
      buffer <- newTBQueueIO (fromIntegral capacity)
      return (Channel (atomically . writeTBQueue buffer) (atomically (readTBQueue buffer)))
    counted = do
      buffer <- newChan
      free <- newQSem capacity
      return (Channel (\message -> waitQSem free >> writeChan buffer message) (readChan buffer <* signalQSem free))

run :: Message message => IO (Channel message) -> Int -> IO ()
run newChannel count = do
  Channel send receive <- newChannel
  let sendAll next total
        | next == fromIntegral count = return total
        | otherwise = total `seq` (send $! make next) >> sendAll (next + 1) (total + next)
      receiveAll = repeated count (\total -> (total +) . first <$> receive) 0
  sums <- forkJoin [sendAll 0 0, receiveAll]
  require (all (== head sums) sums) "the channel lost a message"
{-# SPECIALISE run :: IO (Channel Message8) -> Int -> IO () #-}
{-# SPECIALISE run :: IO (Channel Message64) -> Int -> IO () #-}

main :: IO ()
main = do
  program <- newProgram
    "capacity 0: two MVars; 1: an MVar; else: stm's TBQueue, or a Chan bounded by a QSem"
    [Parameter "capacity" [0, 1, 64] [0, 1, 64], Parameter "bytes" [8, 64] [8, 64]]
  forM_ (values program "capacity") $ \capacity ->
    forM_ (values program "bytes") $ \bytes -> do
      let params = ["capacity" .= Number capacity, "bytes" .= Number bytes]
      case bytes of
        8 -> forM_ (channels capacity) $ \(variant, newChannel) ->
          measure program variant params "message" 1 (run (newChannel :: IO (Channel Message8)))
        64 -> forM_ (channels capacity) $ \(variant, newChannel) ->
          measure program variant params "message" 1 (run (newChannel :: IO (Channel Message64)))
        _ -> unsupported "" params "messages are of 8 or 64 bytes"
