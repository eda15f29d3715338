-- GHC: an MVar as a lock, uncontended; see mutex.hpp.
module Main (main) where

import Bench
import Control.Concurrent.MVar (MVar, newMVar, putMVar, takeMVar)
import Control.Monad (replicateM_)

-- Out of the compiler's sight.
lock, unlock :: MVar () -> IO ()
lock = takeMVar
unlock mutex = putMVar mutex ()
{-# NOINLINE lock #-}
{-# NOINLINE unlock #-}

main :: IO ()
main = do
  program <- newProgram "takeMVar, putMVar" []
  mutex <- newMVar ()
  measure program "MVar" ["fibers" .= Number 1] "pair" 1 $ \count -> replicateM_ count (lock mutex >> unlock mutex)
