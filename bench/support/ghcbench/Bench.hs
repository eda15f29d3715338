{-# LANGUAGE CPP #-}
-- What ../bench.hpp is to the C++ programs: options, one warm-up and one timed run per measurement, and the lines the
-- runner reads.
module Bench
  ( Parameter (..), Program, Value (..), (.=), forkJoin, newProgram, measure, measureRate, order, repeated, require
  , unsupported, values
  ) where

import Control.Concurrent (forkIO)
import Control.Concurrent.MVar (newEmptyMVar, putMVar, takeMVar)
import Control.Exception (SomeException, try)
import Control.Monad (unless, when)
import Data.Bits (shiftR, xor)
import Data.List (intercalate, sortOn)
import Data.Version (showVersion)
import Data.Word (Word64)
import GHC.Clock (getMonotonicTimeNSec)
import System.Environment (getArgs)
import System.Exit (ExitCode (..), exitSuccess, exitWith)
import System.IO (BufferMode (..), hPutStrLn, hSetBuffering, stderr, stdout)
import System.Info (compilerVersion)

-- An option for a workload's parameter: its name, the values taken without the option, those taken with --quick.
data Parameter = Parameter String [Int] [Int]

data Program = Program
  { chosenValues :: [(String, [Int])]
  , chosenVariant :: Maybe String
  , seconds :: Double
  }

data Value = Number Int | Word String

(.=) :: String -> Value -> (String, Value)
(.=) = (,)

-- The version that System.Info has lacks the patch level.
version :: String
version = showVersion compilerVersion ++ "." ++ show (__GLASGOW_HASKELL_PATCHLEVEL1__ :: Int)

stop :: Int -> String -> IO a
stop code message = hPutStrLn stderr message >> exitWith (ExitFailure code)

-- Ends the program unless the condition holds: a peer that loses work must not get a number.
require :: Bool -> String -> IO ()
require condition message = unless condition (stop 1 message)

-- Reads the options and prints the first line, with the flags that harness/toolchains.py builds all programs with.
newProgram :: String -> [Parameter] -> IO Program
newProgram configuration parameters = do
  hSetBuffering stdout LineBuffering
  arguments <- getArgs
  let quick = "--quick" `elem` arguments
      given = [(name, if quick then few else full) | Parameter name full few <- parameters]
      initial = Program given Nothing (if quick then 0.05 else 0.2)
  (program, workers) <- readOptions (filter (/= "--quick") arguments) (initial, "1")
  putStrLn ("{\"version\":\"" ++ version ++ "\",\"configuration\":\"" ++ configuration
    ++ "; -O2, non-threaded runtime, -A4m\"}")
  when (workers /= "1") $ do
    putStrLn ("{\"variant\":\"\",\"workers\":" ++ workers
      ++ ",\"params\":{},\"unsupported\":\"the non-threaded runtime has one kernel thread\"}")
    exitSuccess
  return program

readOptions :: [String] -> (Program, String) -> IO (Program, String)
readOptions [] chosen = return chosen
readOptions ("--workers" : count : rest) (program, _) = readOptions rest (program, count)
readOptions ("--variant" : name : rest) (program, workers) =
  readOptions rest (program { chosenVariant = Just name }, workers)
readOptions ("--seconds" : text : rest) (program, workers) = case reads text of
  [(time, "")] -> readOptions rest (program { seconds = time }, workers)
  _ -> stop 2 ("--seconds: '" ++ text ++ "' is not a time")
readOptions (option@('-' : '-' : name) : text : rest) (program, workers)
  | name `notElem` map fst known = stop 2 ("unknown option " ++ option)
  | otherwise = case reads ("[" ++ text ++ "]") of
      [(list, "")] ->
        readOptions rest (program { chosenValues = (name, list) : filter ((/= name) . fst) known }, workers)
      _ -> stop 2 (option ++ ": '" ++ text ++ "' is not a list like 2,100")
  where known = chosenValues program
readOptions (option : _) _ = stop 2 (option ++ " needs a value, or is unknown")

values :: Program -> String -> [Int]
values program name = maybe (error ("the program has no parameter " ++ name)) id (lookup name (chosenValues program))

beginLine :: String -> [(String, Value)] -> String
beginLine variant params =
  "{\"variant\":\"" ++ variant ++ "\",\"workers\":1,\"params\":{" ++ intercalate "," (map field params) ++ "}"
  where
    field (name, Number number) = "\"" ++ name ++ "\":" ++ show number
    field (name, Word word) = "\"" ++ name ++ "\":\"" ++ word ++ "\""

-- Prints that this measurement cannot be made, and why.
unsupported :: String -> [(String, Value)] -> String -> IO ()
unsupported variant params reason = putStrLn (beginLine variant params ++ ",\"unsupported\":\"" ++ reason ++ "\"}")

-- measure program variant params operation operations run: calls `run count`, which must do `count` times `operations`
-- operations, first to warm up, then timed.
measure :: Program -> String -> [(String, Value)] -> String -> Int -> (Int -> IO ()) -> IO ()
measure program variant params operation operations run = when (wants program variant) $ do
  (mean, best) <- timed program run
  let each time = time / fromIntegral operations
  report variant params "ns" ("ns/" ++ operation) (each mean) (each best)

-- As measure, and prints operations per second too.
measureRate :: Program -> String -> [(String, Value)] -> String -> Int -> (Int -> IO ()) -> IO ()
measureRate program variant params operation operations run = when (wants program variant) $ do
  (mean, best) <- timed program run
  let each time = time / fromIntegral operations
  report variant params "ns" ("ns/" ++ operation) (each mean) (each best)
  report variant params "per_second" (operation ++ "s/s") (1e9 / each mean) (1e9 / each best)

wants :: Program -> String -> Bool
wants program variant = maybe True (== variant) (chosenVariant program)

report :: String -> [(String, Value)] -> String -> String -> Double -> Double -> IO ()
report variant params metric unit value best = putStrLn $
  beginLine variant params ++ ",\"metric\":\"" ++ metric ++ "\",\"unit\":\"" ++ unit ++ "\",\"value\":" ++ show value
    ++ ",\"best\":" ++ show best ++ "}"

-- Nanoseconds per count: of a whole timed run, and of the fastest of the slices it was timed in.
timed :: Program -> (Int -> IO ()) -> IO (Double, Double)
timed program run = nanoseconds 1 >>= search 1
  where
    wanted = seconds program * 1e9
    nanoseconds :: Int -> IO Double
    nanoseconds count = do
      start <- getMonotonicTimeNSec
      run count
      end <- getMonotonicTimeNSec
      return (fromIntegral (end - start))
    -- At most eightfold at once, and again if it was too short: one run, on a machine that has other work, tells
    -- little.
    search :: Int -> Double -> IO (Double, Double)
    search before elapsed = do
      let count = max 1 (floor (fromIntegral before * min 8 (wanted / elapsed)))
          slice = max 1 (count `div` 10)
          slices = count `div` slice
      times <- mapM (const (nanoseconds slice)) [1 .. slices]
      if sum times >= wanted / 2
        then return (sum times / fromIntegral (slice * slices), minimum times / fromIntegral slice)
        else search (slice * slices) (sum times)

-- repeated n action state: applies the action n times to a state that is kept evaluated.
repeated :: Int -> (state -> IO state) -> state -> IO state
repeated count action = go count
  where
    go 0 state = return state
    go left state = state `seq` (action state >>= go (left - 1))
{-# INLINE repeated #-}

-- Runs each action in a thread of its own, and returns what they returned, in their order.
forkJoin :: [IO a] -> IO [a]
forkJoin actions = mapM start actions >>= mapM (\done -> takeMVar done >>= either failed return)
  where
    start action = do
      done <- newEmptyMVar
      _ <- forkIO (try action >>= putMVar done)
      return done
    failed :: SomeException -> IO a
    failed exception = stop 1 (show exception)

-- The numbers below n in the order of that name: "memory", or "random", which is the same in every run.
order :: String -> Int -> [Int]
order "random" n = sortOn mixed [0 .. n - 1]
order _ n = [0 .. n - 1]

-- splitmix64
mixed :: Int -> Word64
mixed i = c `xor` (c `shiftR` 31)
  where
    a = fromIntegral (i + 1) * 0x9e3779b97f4a7c15
    b = (a `xor` (a `shiftR` 30)) * 0xbf58476d1ce4e5b9
    c = (b `xor` (b `shiftR` 27)) * 0x94d049bb133111eb
