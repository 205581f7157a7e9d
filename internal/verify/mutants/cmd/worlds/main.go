// Command worlds runs the simulator until a world breaks a promise, and prints in one line of JSON how many worlds it took. It is
// built with a mutant in the product. The program without a mutant shows which worlds break promises by themselves.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/millwright-dev/millwright/internal/verify/sim"
)

func main() {
	dialect := flag.String("dialect", sim.OpenShift, "openshift or gardener")
	seeds := flag.String("seeds", "0+500", "the first seed, and how many worlds to look at")
	like := flag.String("like", "", "the setting of the worlds; empty: none")
	flag.Parse()
	debug.SetGCPercent(2000)
	if err := run(*dialect, *seeds, *like); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

func run(dialect, seeds, like string) error {
	var start, most uint64
	if _, err := fmt.Sscanf(seeds, "%d+%d", &start, &most); err != nil {
		return fmt.Errorf("-seeds: %q is not two numbers with + between: %w", seeds, err)
	}
	setting, err := settingOf(like)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(look(dialect, start, most, setting))
}

// settingOf returns a mutation that only selects a setting of the simulator.
func settingOf(like string) (*sim.Mutation, error) {
	if like == "" {
		return nil, nil
	}
	m, is := sim.Setting(like)
	if !is {
		return nil, fmt.Errorf("the simulator has no setting %q", like)
	}
	return m, nil
}

// found is the JSON that internal/verify/mutants reads as a Look. This program does not import that package: its result depends
// only on the product and the simulator, and is cached until one of them changes.
type found struct {
	Worlds    uint64 `json:"worlds"`
	Seed      uint64 `json:"seed"`
	Statement string `json:"statement"`
}

func look(dialect string, start, most uint64, setting *sim.Mutation) found {
	for n := range most {
		if statement := world(start+n, sim.Options{Dialect: dialect, Mutation: setting}); statement != "" {
			return found{Worlds: n + 1, Seed: start + n, Statement: statement}
		}
	}
	return found{Worlds: most}
}

// longest is how long a world may take; usually it takes a tenth of a second.
const longest = 2 * time.Minute

// world returns the statement that a world breaks; empty if it breaks none.
func world(seed uint64, o sim.Options) string {
	statement := make(chan string, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				statement <- fmt.Sprint("nothing panics: ", r)
			}
		}()
		broken := ""
		if r := sim.Run(seed, o); r.Violation != nil {
			broken = r.Violation.Statement
		}
		statement <- broken
	}()
	select {
	case s := <-statement:
		return s
	case <-time.After(longest):
		return "a world ends"
	}
}
