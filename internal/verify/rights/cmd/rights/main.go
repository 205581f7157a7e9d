// Command rights holds the roles of config/rbac to the audit logs in folders.
//
//	go run ./internal/verify/rights/cmd/rights bin/audit/box bin/audit/install
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/millwright-dev/millwright/config"
	"github.com/millwright-dev/millwright/internal/verify/rights"
)

func main() {
	used := flag.Bool("used", false, "print how often each right was used")
	refused := flag.Bool("refused", false, "judge refused requests only, and not unused rights")
	flag.Parse()
	if err := judge(flag.Args(), *used, *refused); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func judge(dirs []string, used, refused bool) error {
	shipped, err := rights.Shipped(config.FS)
	if err != nil {
		return err
	}
	ledger := rights.NewLedger(shipped)
	for _, dir := range dirs {
		if err := readAll(dir, ledger); err != nil {
			return err
		}
	}
	if used {
		for _, line := range ledger.Used() {
			fmt.Println(line)
		}
	}
	bad, good := ledger.Unneeded(rights.Unseen), "each is needed"
	if refused {
		bad, good = ledger.Refused(rights.Denied), "none is missing"
	}
	for _, line := range bad {
		fmt.Println(line)
	}
	if len(bad) > 0 {
		return fmt.Errorf("%d defects of roles in config/rbac", len(bad))
	}
	fmt.Printf("%d rights in config/rbac: %s\n", len(shipped), good)
	return nil
}

func readAll(dir string, into *rights.Ledger) error {
	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(logs) == 0 {
		return fmt.Errorf("%q has no audit log: %w", dir, errors.Join(err, os.ErrNotExist))
	}
	for _, name := range logs {
		if err := read(name, into); err != nil {
			return err
		}
	}
	return nil
}

func read(name string, into *rights.Ledger) error {
	log, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	return rights.Read(log, into.Add)
}
