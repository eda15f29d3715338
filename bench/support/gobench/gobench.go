// Package gobench is what ../bench.hpp is to the C++ programs: options, one warm-up and one timed run per
// measurement, and the lines the runner reads.
package gobench

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"time"
)

// Params are a measurement's parameters, as the result shows them; nil for none.
type Params map[string]interface{}

// Parameter is an option for a workload's parameter, with the values taken when it is not given.
type Parameter struct {
	Name        string
	Values      []int
	QuickValues []int
}

// Program is one run of a benchmark program.
type Program struct {
	workers       int
	quick         bool
	variant       string
	seconds       float64
	values        map[string][]int
	memory        uint64
	memoryWithOne uint64 // 0: it did not begin so
}

// New reads the options, sets GOMAXPROCS to the workers asked for, and prints the first line.
func New(configuration string, parameters ...Parameter) *Program {
	p := &Program{values: map[string][]int{}, memory: peakMemory()}
	flag.IntVar(&p.workers, "workers", 1, "kernel threads that run goroutines (GOMAXPROCS)")
	flag.BoolVar(&p.quick, "quick", false, "short runs")
	flag.StringVar(&p.variant, "variant", "", "measure this variant only")
	flag.Float64Var(&p.seconds, "seconds", 0, "time of one measurement")
	lists := map[string]*string{}
	for _, each := range parameters {
		lists[each.Name] = flag.String(each.Name, "", "values, as in 2,100")
	}
	flag.Usage = func() {} // what is wrong shall be the last that is printed
	flag.Parse()
	if flag.NArg() != 0 || p.workers < 1 {
		fmt.Fprintln(os.Stderr, "usage: [-quick] [-variant NAME] [-workers N] [-seconds S] [-PARAMETER LIST]")
		os.Exit(2)
	}
	for _, each := range parameters {
		p.values[each.Name] = each.Values
		if *lists[each.Name] != "" {
			p.values[each.Name] = parseList(each.Name, *lists[each.Name])
		} else if p.quick {
			p.values[each.Name] = each.QuickValues
		}
	}
	if p.seconds == 0 {
		p.seconds = 0.2
		if p.quick {
			p.seconds = 0.05
		}
	}
	runtime.GOMAXPROCS(p.workers)
	printLine(map[string]interface{}{
		"version":       strings.TrimPrefix(runtime.Version(), "go"),
		"configuration": configuration,
	})
	return p
}

func parseList(name, text string) []int {
	var values []int
	for _, each := range strings.Split(text, ",") {
		value, err := strconv.Atoi(each)
		if err != nil || value < 0 {
			fmt.Fprintf(os.Stderr, "-%s: '%s' is not a list of numbers like 2,100\n", name, text)
			os.Exit(2)
		}
		values = append(values, value)
	}
	return values
}

func printLine(line map[string]interface{}) {
	text, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(text))
}

// Require ends the program unless condition: a peer that loses work must not get a number.
func Require(condition bool, message string) {
	if !condition {
		fmt.Fprintln(os.Stderr, message)
		os.Exit(1)
	}
}

// Workers is the number of kernel threads that run goroutines.
func (p *Program) Workers() int { return p.workers }

// Values are the values to measure of the parameter name.
func (p *Program) Values(name string) []int { return p.values[name] }

// Unsupported prints that this measurement cannot be made, and why.
func (p *Program) Unsupported(variant string, params Params, reason string) {
	printLine(map[string]interface{}{
		"variant": variant, "workers": p.workers, "params": params, "unsupported": reason,
	})
}

// Measure calls run(count), which must do count times operations operations, first to warm up, then timed.
func (p *Program) Measure(variant string, params Params, operation string, operations int, run func(count int)) {
	if p.variant == "" || p.variant == variant {
		mean, best := p.time(run)
		p.report(variant, params, "ns", "ns/"+operation, mean/float64(operations), best/float64(operations))
	}
}

// MeasureRate is Measure, and prints operations per second too.
func (p *Program) MeasureRate(variant string, params Params, operation string, operations int, run func(count int)) {
	if p.variant == "" || p.variant == variant {
		mean, best := p.time(run)
		mean, best = mean/float64(operations), best/float64(operations)
		p.report(variant, params, "ns", "ns/"+operation, mean, best)
		p.report(variant, params, "per_second", operation+"s/s", 1e9/mean, 1e9/best)
	}
}

// MeasureP99 calls run(count), which must return count times in microseconds, and prints what 99 % of them are below.
func (p *Program) MeasureP99(variant string, params Params, run func(count int) []float64) {
	if p.variant == "" || p.variant == variant {
		times := run(int(math.Max(p.seconds*5000, 300)))
		sort.Float64s(times)
		value := times[len(times)*99/100]
		p.report(variant, params, "p99_us", "us", value, value)
	}
}

// ReportMemory prints by how many bytes the process's memory has grown at most since the program began.
func (p *Program) ReportMemory(variant string, params Params) {
	if p.variant == "" || p.variant == variant {
		grown := float64(peakMemory() - p.memory)
		p.report(variant, params, "bytes", "bytes", grown, grown)
	}
}

// ReportMemoryEach is the same for each of count things of that name.
func (p *Program) ReportMemoryEach(variant string, params Params, thing string, count int) {
	if p.variant == "" || p.variant == variant {
		each := float64(peakMemory()-p.memory) / float64(count)
		p.report(variant, params, "bytes", "bytes/"+thing, each, each)
	}
}

// BeginWithOne calls run, which must do the work with one of the things that ReportMemoryBesideOne counts.
func (p *Program) BeginWithOne(variant string, run func()) {
	if (p.variant == "" || p.variant == variant) && p.memoryWithOne == 0 {
		run()
		p.memoryWithOne = peakMemory()
	}
}

// ReportMemoryBesideOne prints what each of count things takes of memory: by how many bytes the process has grown at
// most since BeginWithOne, for each but the first; of one, by how many since the program began, with it.
func (p *Program) ReportMemoryBesideOne(variant string, params Params, thing string, count int) {
	if p.variant == "" || p.variant == variant {
		each := float64(p.memoryWithOne - p.memory)
		if count > 1 {
			each = float64(peakMemory()-p.memoryWithOne) / float64(count-1)
		}
		p.report(variant, params, "bytes", "bytes/"+thing, each, each)
	}
}

// peakMemory is the most memory the process has had so far, in bytes.
func peakMemory() uint64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		panic(err)
	}
	for _, line := range strings.Split(string(status), "\n") {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmHWM:" {
			kib, _ := strconv.ParseUint(fields[1], 10, 64)
			return kib * 1024
		}
	}
	return 0
}

// time returns nanoseconds per count: of a whole timed run, and of the fastest of the slices it was timed in.
func (p *Program) time(run func(count int)) (mean, best float64) {
	seconds := func(count int) float64 {
		start := time.Now()
		run(count)
		return time.Since(start).Seconds()
	}
	count := 1
	elapsed := seconds(count)
	for {
		// At most eightfold at once, and again if it was too short: one run, on a machine that has other work,
		// tells little.
		count = atLeastOne(int(float64(count) * math.Min(p.seconds/elapsed, 8)))
		slice := atLeastOne(count / 10)
		slices := count / slice
		count = slice * slices
		elapsed = 0
		best = math.Inf(1)
		for i := 0; i < slices; i++ {
			each := seconds(slice)
			elapsed += each
			best = math.Min(best, each)
		}
		if elapsed >= p.seconds/2 {
			return elapsed * 1e9 / float64(count), best * 1e9 / float64(slice)
		}
	}
}

func atLeastOne(count int) int {
	if count < 1 {
		return 1
	}
	return count
}

func (p *Program) report(variant string, params Params, metric, unit string, value, best float64) {
	if params == nil {
		params = Params{}
	}
	printLine(map[string]interface{}{
		"variant": variant, "workers": p.workers, "params": params, "metric": metric, "unit": unit, "value": value,
		"best": best,
	})
}
