package rehearsal

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/internal/demo/devplane"
	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/internal/verify/record"
)

var (
	provider = flag.String("rehearsal.provider", "", "simulated cloud, or several separated by commas; empty: all")
	chapters = flag.String("rehearsal.chapters", "", "chapters to run, separated by commas; empty: all")
	keep     = flag.Bool("rehearsal.keep", false, "leave logs where they are; those of a story that fails always stay")
)

// clouds are the clouds that have a simulator.
var clouds = []string{"alicloud", "aws", "azure", "gcp", "ibmcloud", "kubevirt", "metal3", "nutanix", "openstack", "vsphere", "yandex"}

// bin is the folder of the programs under test, built from this tree.
var bin string

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "rehearsal:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	root, err := devplanetest.RepositoryRoot()
	if err != nil {
		return 0, err
	}
	// The folder of `make build`: programs that are up to date are not linked again.
	bin = filepath.Join(root, "bin") + string(filepath.Separator)
	if err := os.MkdirAll(bin, 0o755); err != nil { //nolint:gosec // programs
		return 0, err
	}
	if err := build(".", "./cmd/"+fleet.Sets); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

// build builds a program of the module in a folder of the repository, as `make` does.
func build(module, program string) error {
	root, err := devplanetest.RepositoryRoot()
	if err != nil {
		return err
	}
	c := exec.Command("go", "build", "-trimpath", "-gcflags=all=-dwarf=false", "-o", bin, program)
	c.Dir = filepath.Join(root, module)
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", program, err, out)
	}
	return nil
}

// buildCloud builds the controller and the simulator of a cloud.
func buildCloud(t *testing.T, cloud string) {
	t.Helper()
	root, err := devplanetest.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	doubles, err := filepath.Glob(filepath.Join(root, "dev/clouds/*/cmd/cloud-"+cloud))
	if err != nil || len(doubles) != 1 {
		t.Fatalf("%d doubles play %s, %v", len(doubles), cloud, err)
	}
	double, err := filepath.Rel(root, doubles[0])
	if err != nil {
		t.Fatal(err)
	}
	for module, program := range map[string]string{"providers/" + cloud + "/cloud": "./machine-controller-" + cloud, double: "."} {
		if err := build(module, program); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStory(t *testing.T) {
	for _, cloud := range clouds {
		if !asked(*provider, cloud) {
			continue
		}
		t.Run(cloud, func(t *testing.T) {
			buildCloud(t, cloud)
			s := start(t, fleet.CloudOptions{Provider: cloud})
			for _, chapter := range []struct {
				name string
				tell func(*story)
			}{
				{"create", (*story).create},
				{"foreign", (*story).foreign},
				{"roll", (*story).roll},
				{"drain", (*story).drain},
				{"heal", (*story).heal},
				{"orphan", (*story).orphan},
				{"kill", (*story).kill},
				{"revoke", (*story).revoke},
				{"accounts", (*story).accounts},
				{"end", (*story).end},
			} {
				if !asked(*chapters, chapter.name) {
					continue
				}
				began := time.Now()
				s.chapter = chapter.name
				chapter.tell(s)
				s.count()
				t.Logf("%-9s %5.1f s", chapter.name, time.Since(began).Seconds())
			}
			s.keepsPromises()
		})
	}
}

// asked reports whether a name is in a comma-separated list, or the list is empty.
func asked(list, name string) bool {
	return list == "" || slices.Contains(strings.Split(list, ","), name)
}

// start starts a fleet on a simulated cloud, without objects. args are additional arguments of the machine controller.
func start(t *testing.T, o fleet.CloudOptions, args ...string) *story {
	t.Helper()
	dir, err := os.MkdirTemp("", "millwright-rehearsal-"+o.Provider+"-")
	if err != nil {
		t.Fatal(err)
	}
	audit, err := record.Audit(dir)
	if err != nil {
		t.Fatal(err)
	}
	f, err := fleet.Start(t.Context(), fleet.Options{
		Dir: filepath.Join(dir, "fleet"), Bin: bin, Backend: "kwok", Cloud: o, Log: os.Stderr,
		PlaneArgs: map[string][]string{devplane.APIServer: audit},
		Args: map[string][]string{
			fleet.Sets:                         {"--namespace="},
			"machine-controller-" + o.Provider: append([]string{"--machine-safety-orphan-vms-period=2s", "--orphan-grace-period=5s", "--v=4", "--namespace="}, args...),
		},
	})
	t.Cleanup(func() {
		if f != nil {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if err := f.Stop(ctx); err != nil {
				t.Error(err)
			}
		}
		if t.Failed() || *keep {
			t.Logf("logs are in %s", dir)
		} else if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &story{t: t, fleet: f, cloud: o.Provider, dir: dir}
	s.post("lives")
	return s
}
