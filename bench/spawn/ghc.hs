-- GHC: fork a thread that does nothing but fill an MVar, and wait for that; see spawn.hpp.
module Main (main) where

import Bench
import Control.Concurrent (forkIO)
import Control.Concurrent.MVar (newEmptyMVar, putMVar, takeMVar)
import Control.Monad (replicateM_)

main :: IO ()
main = do
  program <- newProgram "forkIO, an MVar to join" []
  measure program "forkIO" [] "spawn" 1 $ \count -> replicateM_ count $ do
    done <- newEmptyMVar
    _ <- forkIO (putMVar done ())
    takeMVar done
