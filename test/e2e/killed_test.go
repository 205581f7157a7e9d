package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// killedWrites is the number of writes after which the machine controller is killed: `make test-crash` kills it after each
// write.
var killedWrites = flag.Int("killed.writes", 2, "up to which of its writes the machine controller is killed")

// failures are the possible results of creations in the other crash test.
var failures = regexp.MustCompile(`(?m)^( *)createFailureRate: 0.1$`)

// TestSafetyKilledAfterEachWrite kills the machine controller with SIGKILL after the API server has executed its first, second,
// ... write, while a machine of each API is created, and while one is deleted. The best choice of the class has capacity for
// one machine, so that the controller requests the other machine twice. Afterwards there is exactly one instance for each
// machine, and nothing else.
func TestSafetyKilledAfterEachWrite(t *testing.T) {
	t.Parallel()
	c := &crash{}
	c.startFleet(t, fleet.Options{AuditLog: true})
	c.watchForTwins(t)
	for _, manifest := range []string{"testdata/crash-openshift.yaml", "testdata/crash-gardener.yaml"} {
		raw, err := os.ReadFile(manifest)
		if err != nil {
			t.Fatal(err)
		}
		choosy := failures.ReplaceAll(raw, []byte("${1}quota: 1\n${1}choices: [{instanceType: big}, {instanceType: small}]"))
		if bytes.Equal(choosy, raw) {
			t.Fatalf("%s has no createFailureRate any more", manifest)
		}
		if err := c.Create(t.Context(), choosy); err != nil {
			t.Fatal(err)
		}
	}
	c.killedAfter(t, 0, 1)
	c.killedAfter(t, 0, 2)
	c.askedTwice(t)
	c.killedAfter(t, 0, 1)
	for n := range *killedWrites {
		created := c.killedAfter(t, n+1, 2)
		deleted := c.killedAfter(t, n+1, 1)
		if !created && !deleted {
			t.Logf("there are no more than %d writes", n)
			return
		}
	}
}

// askedTwice checks that a machine of each API stores that its best choice was refused, and that another was requested.
func (c *crash) askedTwice(t *testing.T) {
	t.Helper()
	for _, s := range c.sets() {
		all := &unstructured.UnstructuredList{}
		all.SetGroupVersionKind(s.GroupVersionKind().GroupVersion().WithKind("MachineList"))
		if err := c.Client.List(t.Context(), all, client.InNamespace(s.GetNamespace())); err != nil {
			t.Fatal(err)
		}
		twice := slices.ContainsFunc(all.Items, func(m unstructured.Unstructured) bool {
			raw, err := json.Marshal(m.Object["status"])
			return err == nil && bytes.Contains(raw, []byte(`\"closed\":\"Exhausted\"`)) && bytes.Contains(raw, []byte(`\"n\":2`))
		})
		if !twice {
			t.Errorf("no machine of %s records two requests for its instance", s.GetAPIVersion())
		}
	}
}

// killedAfter scales both sets, kills the machine controller after the given number of its writes (0 for never), and waits for
// the wanted state. It returns false if there were fewer writes.
func (c *crash) killedAfter(t *testing.T, writes, replicas int) (killed bool) {
	t.Helper()
	name := fmt.Sprintf("scale to %d, killed after write %d", replicas, writes)
	log, err := os.Open(c.Plane.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if _, err := log.Seek(0, io.SeekEnd); err != nil {
		t.Fatal(err)
	}
	for _, s := range c.sets() {
		if err := c.scale(t.Context(), s, replicas); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	settled := func(ctx context.Context) (string, error) { return c.settled(ctx, replicas) }
	if writes > 0 && awaitWrites(t, log, writes, settled) {
		c.killMachines(t)
		killed = true
	}
	eventually(t, name, settled)
	return killed
}

// awaitWrites waits until the log has the given number of writes of the machine controller. It returns false if the controller
// finishes with fewer writes.
func awaitWrites(t *testing.T, log io.Reader, writes int, done func(context.Context) (string, error)) bool {
	t.Helper()
	lines := bufio.NewReader(log)
	part, looked := "", time.Now()
	for seen := 0; t.Context().Err() == nil; {
		more, err := lines.ReadString('\n')
		part += more
		switch {
		case err != nil:
			time.Sleep(time.Millisecond)
			if time.Since(looked) < time.Second {
				continue
			}
			if missing, err := done(t.Context()); err == nil && missing == "" {
				return false
			}
			looked = time.Now()
			continue
		case isWriteOf(part, fleet.Machines):
			seen++
		}
		if part = ""; seen == writes {
			return true
		}
	}
	return false
}

// isWriteOf reports whether a line of the audit log is a write of the program, other than to a lease.
func isWriteOf(line, program string) bool {
	var e struct {
		Verb, UserAgent string
		ObjectRef       struct{ Resource string }
	}
	if err := json.Unmarshal([]byte(line), &e); err != nil {
		return false
	}
	changes := e.Verb == "create" || e.Verb == "update" || e.Verb == "patch" || e.Verb == "delete"
	return changes && strings.HasPrefix(e.UserAgent, program+"/") && e.ObjectRef.Resource != "leases" && e.ObjectRef.Resource != "events"
}

// killMachines ends the machine controller, and starts it again.
func (c *crash) killMachines(t *testing.T) {
	t.Helper()
	for _, victim := range append([]*fleet.Controller(nil), c.Controllers...) {
		if victim.Program != fleet.Machines {
			continue
		}
		if err := c.KillController(t.Context(), victim); err != nil {
			t.Fatal(err)
		}
		if _, err := c.StartController(victim.Program); err != nil {
			t.Fatal(err)
		}
	}
}
