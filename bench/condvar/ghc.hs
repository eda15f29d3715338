-- GHC: two threads hand a turn to each other; see condvar.hpp. Each takes it from an MVar of its own: a mutex and a
-- condition variable in one.
module Main (main) where

import Bench
import Control.Concurrent.MVar (newEmptyMVar, newMVar, putMVar, takeMVar)
import Control.Monad (replicateM_)

main :: IO ()
main = do
  program <- newProgram "an MVar each" []
  measure program "MVar" [] "message" 2 $ \count -> do
    first <- newMVar ()
    second <- newEmptyMVar
    let handOver mine other = replicateM_ count (takeMVar mine >>= putMVar other)
    _ <- forkJoin [handOver first second, handOver second first]
    takeMVar first
