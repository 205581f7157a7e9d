// Command bump sets one version of a module in every go.mod file of the repository that requires it, and tidies all these
// modules. It fails if they disagree on a common dependency:
//
//	go run ./hack/bump k8s.io/*@v0.37.2 sigs.k8s.io/controller-runtime@v0.25.2
//	go run ./hack/bump -check
//
// Without arguments, it raises each module that is lower in one go.mod than in another. The folders in
// internal/verify/modules/apart.txt keep their versions. -only names folders that are changed nevertheless: -only dev.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/internal/verify/modules"
)

func main() {
	check := flag.Bool("check", false, "change nothing, and say where go.mod files disagree")
	only := flag.String("only", "", "folders to change, separated by commas, whether or not they may differ; all but those that may by default")
	flag.Parse()
	if err := run(*check, *only, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "bump:", err)
		os.Exit(1)
	}
}

func run(check bool, only string, arguments []string) error {
	apart, err := modules.Exceptions()
	if err != nil {
		return err
	}
	if check {
		return agreed(apart)
	}
	var wishes []modules.Wish
	for _, argument := range arguments {
		wish, err := modules.ParseWish(argument)
		if err != nil {
			return err
		}
		wishes = append(wishes, wish)
	}
	all, err := modules.Load(os.DirFS("."))
	if err != nil {
		return err
	}
	if len(wishes) > 0 {
		var folders []string
		if only != "" {
			folders = strings.Split(only, ",")
		}
		changes, err := modules.Bump(all, apart, wishes, folders)
		if err != nil {
			return err
		}
		if err := apply(changes); err != nil {
			return err
		}
	}
	if err := settle(apart); err != nil {
		return err
	}
	return agreed(apart)
}

// passes limits how often all modules are tidied. A dependency of one module may raise that of another, because of the
// replacements between folders.
const passes = 5

// settle tidies all modules and raises lower versions, until nothing changes.
func settle(apart []modules.Apart) error {
	for range passes {
		before, err := modules.Load(os.DirFS("."))
		if err != nil {
			return err
		}
		for _, module := range before {
			if err := tidy(module.Dir); err != nil {
				return err
			}
		}
		after, err := modules.Load(os.DirFS("."))
		if err != nil {
			return err
		}
		changes := modules.Align(after, apart)
		if err := apply(changes); err != nil {
			return err
		}
		if len(changes) == 0 && slices.EqualFunc(before, after, same) {
			return nil
		}
	}
	return fmt.Errorf("go.mod files still change after %d passes", passes)
}

func same(a, b modules.Module) bool {
	return a.Dir == b.Dir && fmt.Sprint(a) == fmt.Sprint(b)
}

func apply(changes []modules.Change) error {
	for _, change := range changes {
		fmt.Printf("%s: %s %s\n", change.Dir, change.Module, change.Version)
		if err := goCommand(change.Dir, "mod", "edit", change.Flag()); err != nil {
			return err
		}
	}
	return nil
}

func tidy(dir string) error {
	fmt.Printf("cd %s && go mod tidy\n", dir)
	return goCommand(dir, "mod", "tidy")
}

func goCommand(dir string, arguments ...string) error {
	command := exec.Command("go", arguments...)
	command.Dir = filepath.FromSlash(dir)
	command.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("cd %s && go %s: %w", dir, strings.Join(arguments, " "), err)
	}
	return nil
}

// agreed returns the disagreements of go.mod files.
func agreed(apart []modules.Apart) error {
	all, err := modules.Load(os.DirFS("."))
	if err != nil {
		return err
	}
	found := modules.Disagreements(all, apart)
	for _, disagreement := range found {
		fmt.Fprintln(os.Stderr, disagreement)
	}
	if len(found) > 0 {
		return fmt.Errorf("go.mod files disagree on %d modules: run hack/bump, or give a reason in internal/verify/modules/apart.txt", len(found))
	}
	return nil
}
