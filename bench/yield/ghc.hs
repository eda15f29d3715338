-- GHC: threads that do nothing but yield; see yield.hpp. Eight different functions take turns.
module Main (main) where

import Bench
import Control.Concurrent (yield)
import Control.Monad (forM_)

yield0, yield1, yield2, yield3, yield4, yield5, yield6, yield7 :: Int -> IO ()
yield0 left = if left == 0 then return () else yield >> yield0 (left - 1)
yield1 left = if left == 0 then return () else yield >> yield1 (left - 1)
yield2 left = if left == 0 then return () else yield >> yield2 (left - 1)
yield3 left = if left == 0 then return () else yield >> yield3 (left - 1)
yield4 left = if left == 0 then return () else yield >> yield4 (left - 1)
yield5 left = if left == 0 then return () else yield >> yield5 (left - 1)
yield6 left = if left == 0 then return () else yield >> yield6 (left - 1)
yield7 left = if left == 0 then return () else yield >> yield7 (left - 1)

-- The work of thread i is done i mod 8 calls deep.
atDepth :: Int -> IO () -> IO Int
atDepth 0 work = work >> return 0
atDepth depth work = do
  below <- atDepth (depth - 1) work
  return $! below + 1
{-# NOINLINE atDepth #-}

main :: IO ()
main = do
  program <- newProgram "Control.Concurrent.yield" [Parameter "fibers" [2, 100] [2, 100]]
  forM_ (values program "fibers") $ \fibers ->
    measure program "yield" ["fibers" .= Number fibers] "yield" fibers $ \count -> do
      let functions = cycle [yield0, yield1, yield2, yield3, yield4, yield5, yield6, yield7]
      depths <- forkJoin [atDepth (i `mod` 8) (function count) | (i, function) <- zip [0 .. fibers - 1] functions]
      require (sum depths == sum [i `mod` 8 | i <- [0 .. fibers - 1]]) "a thread did not run"
