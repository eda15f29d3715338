// Go: goroutines that wait for a Mutex, a Cond, or a channel; see waiters.hpp. The first two know no deadlines.
package main

import (
	"math/rand"
	"sync"
	"sync/atomic"
	"time"

	"sennit.example/bench/support/gobench"
)

// waiters are n goroutines; wakeAll wakes them, so many rounds of them, and end ends them.
type waiters interface {
	wakeAll(rounds int)
	end()
}

type mutexWaiters struct {
	mutexes [2]sync.Mutex
	turn    int // of the mutex that main holds
	count   int
	passed  int
	over    bool
	all     chan struct{}
	running sync.WaitGroup
}

func newMutexWaiters(n int) waiters {
	w := &mutexWaiters{count: n, all: make(chan struct{}, 1)}
	w.mutexes[0].Lock()
	w.running.Add(n)
	for i := 0; i < n; i++ {
		go w.run()
	}
	return w
}

func (w *mutexWaiters) run() {
	over := false
	for turn := 0; !over; turn ^= 1 {
		w.mutexes[turn].Lock()
		w.passed++
		last := w.passed == w.count
		over = w.over
		w.mutexes[turn].Unlock()
		if last {
			w.all <- struct{}{}
		}
	}
	w.running.Done()
}

func (w *mutexWaiters) wakeAll(rounds int) {
	for ; rounds > 0; rounds-- {
		w.mutexes[w.turn^1].Lock()
		w.passed = 0
		w.mutexes[w.turn].Unlock()
		<-w.all
		w.turn ^= 1
	}
}

func (w *mutexWaiters) end() {
	w.over = true
	w.wakeAll(1)
	w.running.Wait()
}

type condWaiters struct {
	mutex         sync.Mutex
	begins, ended *sync.Cond
	count         int
	passed        int
	round         int
	over          bool
	running       sync.WaitGroup
}

func newCondWaiters(n int) waiters {
	w := &condWaiters{count: n}
	w.begins = sync.NewCond(&w.mutex)
	w.ended = sync.NewCond(&w.mutex)
	w.running.Add(n)
	for i := 0; i < n; i++ {
		go w.run()
	}
	return w
}

func (w *condWaiters) run() {
	w.mutex.Lock()
	for seen := 0; ; {
		for w.round == seen {
			w.begins.Wait()
		}
		seen = w.round
		w.passed++
		if w.passed == w.count {
			w.ended.Signal()
		}
		if w.over {
			break
		}
	}
	w.mutex.Unlock()
	w.running.Done()
}

func (w *condWaiters) wakeAll(rounds int) {
	w.mutex.Lock()
	for ; rounds > 0; rounds-- {
		w.passed = 0
		w.round++
		w.begins.Broadcast()
		for w.passed != w.count {
			w.ended.Wait()
		}
	}
	w.mutex.Unlock()
}

func (w *condWaiters) end() {
	w.mutex.Lock()
	w.over = true
	w.mutex.Unlock()
	w.wakeAll(1)
	w.running.Wait()
}

type channelWaiters struct {
	channel chan uint64
	count   int
	missing atomic.Int64
	all     chan struct{}
	running sync.WaitGroup
}

func newChannelWaiters(n int) waiters {
	w := &channelWaiters{channel: make(chan uint64), count: n, all: make(chan struct{}, 1)}
	w.running.Add(n)
	for i := 0; i < n; i++ {
		go w.run()
	}
	return w
}

func (w *channelWaiters) run() {
	for message := range w.channel {
		if message != 0 && w.missing.Add(-1) == 0 {
			w.all <- struct{}{}
		}
	}
	w.running.Done()
}

func (w *channelWaiters) wakeAll(rounds int) {
	w.missing.Store(int64(w.count))
	for left := rounds * w.count; left > 0; left-- {
		if left > w.count {
			w.channel <- 0
		} else {
			w.channel <- 1
		}
	}
	<-w.all
}

func (w *channelWaiters) end() {
	close(w.channel)
	w.running.Wait()
}

// leave has n goroutines wait in vain at one channel, each `times` times.
type leavers struct {
	begin   chan int
	silent  chan uint64
	count   int
	left    sync.WaitGroup
	running sync.WaitGroup
}

func newLeavers(n int) *leavers {
	l := &leavers{begin: make(chan int), silent: make(chan uint64), count: n}
	l.running.Add(n)
	for i := 0; i < n; i++ {
		go l.run()
	}
	return l
}

func (l *leavers) run() {
	timer := time.NewTimer(time.Hour)
	for times := range l.begin {
		for ; times > 0; times-- {
			timer.Reset(time.Duration(1 + rand.Int63n(int64(l.count)*40)))
			select {
			case <-l.silent:
				gobench.Require(false, "a message came that nobody sent")
			case <-timer.C:
			}
		}
		l.left.Done()
	}
	l.running.Done()
}

func (l *leavers) leave(times int) {
	l.left.Add(l.count)
	for i := 0; i < l.count; i++ {
		l.begin <- times
	}
	l.left.Wait()
}

func (l *leavers) end() {
	close(l.begin)
	l.running.Wait()
}

func main() {
	program := gobench.New("sync.Mutex, sync.Cond, chan; a deadline is a time.Timer in a select",
		gobench.Parameter{Name: "n", Values: []int{100, 1_000, 10_000, 100_000}, QuickValues: []int{100, 1_000}})
	kinds := []struct {
		object string
		start  func(n int) waiters
	}{{"mutex", newMutexWaiters}, {"condvar", newCondWaiters}, {"channel", newChannelWaiters}}
	for _, n := range program.Values("n") {
		for _, kind := range kinds {
			w := kind.start(n)
			program.Measure("", gobench.Params{"n": n, "object": kind.object, "ends": "wake"}, "waiter", n, w.wakeAll)
			w.end()
		}
		program.Unsupported("", gobench.Params{"n": n, "object": "mutex", "ends": "deadline"}, "a Mutex knows none")
		program.Unsupported("", gobench.Params{"n": n, "object": "condvar", "ends": "deadline"}, "a Cond knows none")
		const times = 4
		l := newLeavers(n)
		program.Measure("", gobench.Params{"n": n, "object": "channel", "ends": "deadline"}, "waiter", n*times,
			func(count int) { l.leave(count * times) })
		l.end()
	}
}
