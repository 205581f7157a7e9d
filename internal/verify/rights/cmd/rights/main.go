// Command rights holds the roles of config/rbac to the audit logs in a folder.
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
	flag.Parse()
	if err := judge(flag.Arg(0), *used); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func judge(dir string, used bool) error {
	shipped, err := rights.Shipped(config.FS)
	if err != nil {
		return err
	}
	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(logs) == 0 {
		return fmt.Errorf("%q has no audit log: %w", dir, errors.Join(err, os.ErrNotExist))
	}
	ledger := rights.NewLedger(shipped)
	for _, name := range logs {
		if err := read(name, ledger); err != nil {
			return err
		}
	}
	if used {
		for _, line := range ledger.Used() {
			fmt.Println(line)
		}
	}
	bad := append(ledger.Refused(), ledger.Unneeded(rights.Known)...)
	for _, line := range bad {
		fmt.Println(line)
	}
	if len(bad) > 0 {
		return fmt.Errorf("%d defects of roles in config/rbac, by %d audit logs", len(bad), len(logs))
	}
	fmt.Printf("%d rights in config/rbac: each is needed, and none is missing, by %d audit logs\n", len(shipped), len(logs))
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
