-- GHC in its own policy (a FIFO): a lexer feeds a parser among other threads; see policy.hpp. The text is whose turn it
-- is, by an MVar each.
module Main (main) where

import Bench
import Control.Concurrent (yield)
import Control.Concurrent.MVar (newEmptyMVar, newMVar, putMVar, takeMVar)
import Control.Monad (forM_, replicateM_)
import Data.Array.Base (unsafeRead, unsafeWrite)
import Data.Array.IO (IOUArray, newArray)
import Data.Word (Word64)

type Block = IOUArray Int Word64

newBlock :: Int -> IO Block
newBlock size = newArray (0, size - 1) 0

-- Touches each cache line of a block of that many words.
work :: Int -> Block -> IO ()
work size block = go 0
  where
    go :: Int -> IO ()
    go at
      | at >= size = return ()
      | otherwise = unsafeRead block at >>= unsafeWrite block at . (+ 1) >> go (at + 8)

main :: IO ()
main = do
  program <- newProgram "GHC's scheduler as it is; an MVar for each side"
    [Parameter "fibers" [0, 10, 100, 1000] [0, 10, 100], Parameter "bytes" [4096] [4096]]
  forM_ (values program "fibers") $ \others -> forM_ (values program "bytes") $ \bytes -> do
    let params = ["fibers" .= Number others, "bytes" .= Number bytes]
        size = bytes `div` 8
    measure program "threads" params "step" (others + 1) $ \count -> do
      text <- newBlock size
      toFill <- newMVar ()
      toParse <- newEmptyMVar
      let handOver mine other = replicateM_ count (takeMVar mine >> work size text >> putMVar other ())
          step = newBlock size >>= \block -> replicateM_ count (work size block >> yield)
      _ <- forkJoin (handOver toFill toParse : handOver toParse toFill : replicate others step)
      takeMVar toFill
