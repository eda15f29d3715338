// Go: a bounded queue with a mutex and two condition variables, and Go's own, a buffered channel, with two producers
// and two consumers; see queue.hpp.
package main

import (
	"sync"

	"sennit.example/bench/support/gobench"
)

const capacity = 64

type queue struct {
	mutex             sync.Mutex
	notEmpty, notFull *sync.Cond
	items             [capacity]uint64
	first, size       int
}

func newQueue() *queue {
	q := &queue{}
	q.notEmpty = sync.NewCond(&q.mutex)
	q.notFull = sync.NewCond(&q.mutex)
	return q
}

func (q *queue) push(item uint64) {
	q.mutex.Lock()
	for q.size == capacity {
		q.notFull.Wait()
	}
	q.items[(q.first+q.size)%capacity] = item
	q.size++
	q.mutex.Unlock()
	q.notEmpty.Signal()
}

func (q *queue) pop() uint64 {
	q.mutex.Lock()
	for q.size == 0 {
		q.notEmpty.Wait()
	}
	item := q.items[q.first]
	q.first = (q.first + 1) % capacity
	q.size--
	q.mutex.Unlock()
	q.notFull.Signal()
	return item
}

// run has two producers call push and two consumers call pop, count times each.
func run(count int, push func(uint64), pop func() uint64) {
	var all sync.WaitGroup
	var given, taken [2]uint64
	all.Add(4)
	for i := 0; i < 2; i++ {
		i := i
		go func() {
			for item := uint64(0); item < uint64(count); item++ {
				push(item)
				given[i] += item
			}
			all.Done()
		}()
		go func() {
			for left := count; left > 0; left-- {
				taken[i] += pop()
			}
			all.Done()
		}()
	}
	all.Wait()
	gobench.Require(given[0]+given[1] == taken[0]+taken[1], "the queue lost an item")
}

func main() {
	program := gobench.New("sync.Mutex and sync.Cond; a channel of capacity 64")
	program.Measure("Cond", nil, "item", 2, func(count int) {
		q := newQueue()
		run(count, q.push, q.pop)
	})
	program.Measure("channel", nil, "item", 2, func(count int) {
		items := make(chan uint64, capacity)
		run(count, func(item uint64) { items <- item }, func() uint64 { return <-items })
	})
}
