package uiserver

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
)

var residentSize = regexp.MustCompile(`VmRSS:\s+(\d+) kB`)

// resident is the memory of the process in MiB.
func (p *process) resident() int {
	p.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	found := residentSize.FindSubmatch(text)
	if found == nil {
		p.t.Fatalf("no size in %s", text)
	}
	kilobytes, err := strconv.Atoi(string(found[1]))
	if err != nil {
		p.t.Fatal(err)
	}
	return kilobytes >> 10
}

// TestMemoryOfManyUsers measures the memory with 20 users of one fleet, and how soon all see a change. MACHINES=1000 chooses the
// size of the fleet; without it the fleet is small, and only the limit is checked.
func TestMemoryOfManyUsers(t *testing.T) {
	const users = 20
	c, p, namespace := admin(t), startProcess(t, "--v=0"), devplanetest.Namespace(t)
	machines, _ := strconv.Atoi(os.Getenv("MACHINES"))
	machines = max(machines, 20)
	var last *machinev1.Machine
	for i := range machines {
		last = &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("mill-%04d", i), Labels: map[string]string{machinev1.MachineClusterIDLabel: "blue"}}}
		last.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: []byte(`{"kind":"KubemarkMachineProviderSpec","text":"` + strings.Repeat("x", 1500) + `"}`)}
		if err := c.Create(t.Context(), last); err != nil {
			t.Fatal(err)
		}
	}
	before, began := p.resident(), time.Now()
	var open []*stream
	for i := range users {
		open = append(open, p.open(newUser(t, namespace, fmt.Sprint("user", i), "get", "list", "watch").token, namespace))
	}
	for _, s := range open {
		s.says(t, last.Name)
	}
	signedIn := time.Since(began)
	if err := c.Status().Patch(t.Context(), last, client.RawPatch("application/merge-patch+json", []byte(`{"status":{"phase":"Failed","errorMessage":"seen by all"}}`))); err != nil {
		t.Fatal(err)
	}
	began = time.Now()
	for _, s := range open {
		s.says(t, "seen by all")
	}
	after := p.resident()
	t.Logf("%d machines: %d MiB without users, %d MiB with %d users, signed in within %s; all see a change after %s", machines, before, after, users, signedIn.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
	if after > 1024 {
		t.Errorf("%d MiB are more than the limit of config/ui", after)
	}
}
