package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/internal/verify/checker"
	"github.com/millwright-dev/millwright/internal/verify/record"
)

// load reads the two logs of a run.
func load(dir string) (checker.Run, error) {
	run := checker.Run{
		Sets: fleet.User(fleet.Sets), Machines: fleet.User(fleet.Machines),
		DrainTimeout: 2 * time.Hour,
	}
	writes, err := record.Writes(dir)
	if err != nil {
		return run, err
	}
	cloud, err := os.Open(filepath.Join(dir, "cloud.jsonl"))
	if err != nil {
		return run, err
	}
	defer cloud.Close()
	calls, err := checker.ParseCloud(cloud)
	run.Events = append(writes, calls...)
	return run, err
}

// report judges a run, prints a summary, and proves that the checker would have found violations.
func report(dir string, counts map[string]int) (broken bool, err error) {
	began := time.Now()
	run, err := load(dir)
	if err != nil {
		return false, err
	}
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		fmt.Printf("  %-20s %d\n", what, counts[what])
	}
	calls := map[string]int{}
	for _, e := range run.Events {
		switch e.What {
		case checker.Wrote:
			calls["writes of the API"]++
		case checker.Call:
			calls["call "+e.Verb]++
		case checker.Made, checker.Ending, checker.Gone:
			calls["instances "+e.What]++
		}
	}
	for _, what := range slices.Sorted(maps.Keys(calls)) {
		fmt.Printf("  %-20s %d\n", what, calls[what])
	}
	fmt.Println()
	verdicts := checker.Judge(run)
	proofs := checker.Prove(run)
	fmt.Printf("%-14s %7s %7s  %-12s %s\n", "statement", "judged", "broken", "sabotage", "")
	for i, v := range verdicts {
		fmt.Printf("%-14s %7d %7d  %-12s %s\n", v.Statement, v.Judged, len(v.Broken), proofs[i], v.Says)
		broken = broken || len(v.Broken) > 0 || proofs[i] == checker.Unseen
	}
	for _, v := range verdicts {
		for n, f := range v.Broken {
			if n == 10 {
				fmt.Printf("%s: and %d more\n", v.Statement, len(v.Broken)-n)
				break
			}
			fmt.Printf("%s: %s\n", v.Statement, f)
		}
	}
	fmt.Printf("\njudged in %s; the logs are audit.log and cloud.jsonl in %s\n", time.Since(began).Round(time.Millisecond), dir)
	return broken, nil
}
