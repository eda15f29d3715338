// Go: time.AfterFunc's timers, and goroutines that wait for a channel with a time.Timer beside it, or sleep; see
// timers.hpp.
package main

import (
	"math/rand"
	"sync"
	"time"

	"sennit.example/bench/support/gobench"
)

// far is in 10 to 20 minutes, soon so soon that of n sleepers one is always due.
func far() time.Duration       { return 600*time.Second + time.Duration(rand.Int63n(600_000_000_000)) }
func soon(n int) time.Duration { return time.Duration(1 + rand.Int63n(int64(n)*40)) }

// batches are 64 numbers below n at a time: always the same ones, or the next ones in a random order of all.
type batches struct {
	order []int
	size  int
	at    int
}

func newBatches(n int, any bool) *batches {
	b := &batches{order: rand.New(rand.NewSource(1)).Perm(n), size: 64}
	if b.size > n {
		b.size = n
	}
	if !any {
		b.order = b.order[:b.size]
	}
	return b
}

func (b *batches) next() []int {
	if b.at+b.size > len(b.order) {
		b.at = 0
	}
	b.at += b.size
	return b.order[b.at-b.size : b.at]
}

func measureRestart(program *gobench.Program, n int) {
	timers := make([]*time.Timer, n)
	for i := range timers {
		timers[i] = time.AfterFunc(far(), func() { gobench.Require(false, "a deadline came ten minutes too early") })
	}
	for _, which := range []string{"few", "any"} {
		chosen := newBatches(n, which == "any")
		program.Measure("AfterFunc", gobench.Params{"n": n, "work": "restart", "which": which}, "timer", chosen.size,
			func(count int) {
				for ; count > 0; count-- {
					for _, i := range chosen.next() {
						timers[i].Stop()
						timers[i].Reset(far())
					}
				}
			})
	}
	for _, timer := range timers {
		timer.Stop()
	}
}

// sleepers are n goroutines that each wait for a word from main.
type sleepers struct {
	words   []chan int
	waiting sync.WaitGroup
	running sync.WaitGroup
	timed   bool // written while all wait
}

// What a goroutine is told, besides how often to sleep.
const end = -1

func newSleepers(n int, timed bool) *sleepers {
	s := &sleepers{words: make([]chan int, n), timed: timed}
	s.running.Add(n)
	for i := range s.words {
		s.words[i] = make(chan int, 1)
		go s.run(s.words[i], n)
	}
	return s
}

func (s *sleepers) run(words chan int, n int) {
	var timer *time.Timer
	if s.timed {
		timer = time.NewTimer(far())
	}
	for word := 0; word != end; s.waiting.Done() {
		if timer == nil {
			word = <-words
		} else {
			timer.Reset(far())
			select {
			case word = <-words:
				timer.Stop()
			case <-timer.C:
				gobench.Require(false, "a deadline came ten minutes too early")
			}
		}
		for left := word; left > 0; left-- {
			time.Sleep(soon(n))
		}
	}
	s.running.Done()
}

func (s *sleepers) wake(chosen *batches) {
	s.waiting.Add(chosen.size)
	for _, i := range chosen.next() {
		s.words[i] <- 0
	}
	s.waiting.Wait()
}

func (s *sleepers) tellAll(word int) {
	s.waiting.Add(len(s.words))
	for _, words := range s.words {
		words <- word
	}
	s.waiting.Wait()
}

func main() {
	program := gobench.New("time.AfterFunc, Stop, Reset; a channel each, in a select with a time.Timer; time.Sleep",
		gobench.Parameter{Name: "n", Values: []int{1_000, 10_000, 100_000, 1_000_000}, QuickValues: []int{1_000, 10_000}})
	for _, n := range program.Values("n") {
		if program.Workers() == 1 {
			measureRestart(program, n)
		}
		for _, work := range []string{"wait", "timeout"} {
			s := newSleepers(n, work == "timeout")
			for _, which := range []string{"few", "any"} {
				chosen := newBatches(n, which == "any")
				program.Measure("goroutines", gobench.Params{"n": n, "work": work, "which": which}, "wait", chosen.size,
					func(count int) {
						for ; count > 0; count-- {
							s.wake(chosen)
						}
					})
			}
			if work == "wait" {
				const sleeps = 4
				params := gobench.Params{"n": n, "work": "sleep", "which": "all"}
				program.Measure("goroutines", params, "sleep", n*sleeps, func(count int) { s.tellAll(count * sleeps) })
				program.ReportMemoryEach("goroutines", params, "fiber", n)
			}
			s.tellAll(end)
			s.running.Wait()
		}
	}
}
