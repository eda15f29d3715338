-- GHC: a token round a ring of threads, an MVar each; see threadring.hpp. The ring at random is one more, of threads
-- made in the same order; where they lie in memory is the collector's choice in both.
module Main (main) where

import Bench
import Control.Concurrent (forkIO)
import Control.Concurrent.MVar (MVar, newEmptyMVar, putMVar, takeMVar)
import Control.Monad (forM_)
import Data.Array (elems, listArray, (!), array)

-- The token that ends the ring.
end :: Int
end = -1

node :: MVar () -> MVar Int -> MVar Int -> IO ()
node done inbox next = do
  token <- takeMVar inbox
  case token of
    -1 -> putMVar next end
    0 -> putMVar done () >> node done inbox next
    _ -> (putMVar next $! token - 1) >> node done inbox next

main :: IO ()
main = do
  program <- newProgram "an MVar each" [Parameter "n" [503, 10000, 100000] [503, 10000]]
  forM_ (values program "n") $ \n -> forM_ ["memory", "random"] $ \name -> do
    done <- newEmptyMVar
    boxes <- listArray (0, n - 1) <$> mapM (const newEmptyMVar) [1 .. n]
    let linked = order name n
        nextOf = array (0, n - 1) (zip linked (drop 1 linked ++ take 1 linked))
    forM_ (zip (elems boxes) (elems nextOf)) $ \(inbox, next) -> forkIO (node done inbox (boxes ! next))
    measureRate program "MVar" ["n" .= Number n, "order" .= Word name] "hop" n $ \count -> do
      putMVar (boxes ! 0) (count * n)
      takeMVar done
    putMVar (boxes ! 0) end
    takeMVar (boxes ! 0)
