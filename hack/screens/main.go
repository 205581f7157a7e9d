// Command screens draws the terminals in README and docs. It starts a fleet, blocks a deletion with a disruption budget, runs
// the commands, and writes their output as SVG into docs/images. The names of machines are random, so the pictures differ from
// run to run.
package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

//go:embed blocked.yaml
var blocked []byte

const program = "bin/millwright"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "screens:", err)
		os.Exit(1)
	}
}

func run() (err error) {
	dir, err := os.MkdirTemp("", "screens")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	f := fleet{dir: dir}
	defer func() {
		_, down := f.run("down")
		err = errors.Join(err, down)
	}()
	if _, err := f.run("up", "--exit-when-ready"); err != nil {
		return err
	}
	machine, err := f.block()
	if err != nil {
		return err
	}
	const namespace = "-n=openshift-machine-api"
	for _, s := range []screen{
		{"why", wrap, []string{"why", "machine/" + machine, namespace}},
		{"plan", wrap, []string{"plan", "machineset/mill-worker-a", "--replicas=1", namespace}},
		{"history", clip, []string{"history", "machine/" + machine, namespace}},
	} {
		out, err := f.run(s.args...)
		if err != nil && s.name != "plan" { // plan exits with 1 if something changes
			return err
		}
		shown := "kubectl machine " + strings.ReplaceAll(strings.Join(s.args, " "), "-n=", "-n ")
		if err := os.WriteFile(filepath.Join("docs", "images", s.name+".svg"), draw(shown, s.fit(out)), 0o644); err != nil { //nolint:gosec // a page of the repository
			return err
		}
	}
	return nil
}

// screen is a picture: its name, how lines are fitted into it, and the command whose output it shows.
type screen struct {
	name string
	fit  func(string) []string
	args []string
}

// fleet is a running fleet in its own folder.
type fleet struct{ dir string }

// run runs a command of millwright against the fleet, and returns its output.
func (f fleet) run(args ...string) (string, error) { return f.feed(nil, args...) }

func (f fleet) feed(stdin []byte, args ...string) (string, error) {
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "MILLWRIGHT_HOME="+f.dir, "KUBECONFIG="+filepath.Join(f.dir, "plane", "admin.kubeconfig"))
	cmd.Stdin = bytes.NewReader(stdin)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("millwright %s: %w: %s", strings.Join(args, " "), err, errs.String())
	}
	return string(out), err
}

// block runs pods with a budget that never allows a disruption, and deletes the machine of one of them.
func (f fleet) block() (machine string, err error) {
	if _, err := f.feed(blocked, "kubectl", "apply", "-f", "-"); err != nil {
		return "", err
	}
	if _, err := f.run("kubectl", "rollout", "status", "deployment/db", "--timeout=2m"); err != nil {
		return "", err
	}
	nodes, err := f.run("kubectl", "get", "pods", "-l=app=db", "-o=jsonpath={range .items[*]}{.spec.nodeName}{'\\n'}{end}")
	if err != nil {
		return "", err
	}
	for _, node := range strings.Fields(nodes) {
		if strings.HasPrefix(node, "mill-worker-a-") { // a node has the name of its machine
			machine = node
		}
	}
	if machine == "" {
		return "", fmt.Errorf("no pod runs on a node of mill-worker-a: %q", nodes)
	}
	_, err = f.run("kubectl", "-n=openshift-machine-api", "delete", "machines.machine.openshift.io/"+machine, "--wait=false")
	time.Sleep(5 * time.Second) // the drain has begun
	return machine, err
}
