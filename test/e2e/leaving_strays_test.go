package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/demo/devplane"
	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
	"github.com/millwright-dev/millwright/internal/demo/fleet"
	lenses "github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/provider"
)

// The times of the collector in these tests.
const (
	strayPeriod = time.Second
	strayGrace  = 4 * time.Second
)

// specVersions are the versions of kubemark's specs in the APIs.
var specVersions = map[string]string{
	provider.OpenShift: "kubemarkproviderconfig.k8s.io/v1beta1", provider.Gardener: "kubemark.millwright.dev/v1alpha1",
}

// TestStrays plants instances that no machine requested. The machine reports an instance besides its own, which is removed
// after the grace period, while the recorded one stays. An instance without a machine is removed as well, but not while the
// infrastructure denies listings, and not if another control plane created it.
func TestStrays(t *testing.T) {
	t.Parallel()
	s := startStrays(t)
	t.Run("double", func(t *testing.T) {
		for _, d := range dialects {
			t.Run(d.name, func(t *testing.T) {
				t.Parallel()
				s.double(t, d)
			})
		}
	})
	t.Run("stranger", s.stranger)
}

// strays is a fleet of nodes that kwok simulates, with a fast collector.
type strays struct {
	truth
	metrics string
	// owner is the identity of the fleet's control plane.
	owner string
}

func startStrays(t *testing.T) strays {
	t.Helper()
	dir, err := os.MkdirTemp("", "millwright-strays-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := down(dir); err != nil {
			t.Error("take the fleet down:", err)
		}
	})
	s := strays{metrics: devplanetest.FreeAddress(t)}
	f, err := fleet.Start(t.Context(), fleet.Options{
		Dir: dir, Bin: bin, Backend: "kwok", Components: []string{devplane.Kwok}, Log: os.Stderr,
		Args: map[string][]string{fleet.Machines: {
			"--machine-safety-orphan-vms-period=" + strayPeriod.String(), "--orphan-grace-period=" + strayGrace.String(),
			"--metrics-bind-address=" + s.metrics,
		}},
	})
	if err != nil {
		t.Fatal("start the fleet:", err)
	}
	if s.truth, err = truthOf(f); err != nil {
		t.Fatal(err)
	}
	var system corev1.Namespace
	if err := f.Client.Get(t.Context(), client.ObjectKey{Name: "kube-system"}, &system); err != nil {
		t.Fatal(err)
	}
	s.owner = string(system.UID)
	return s
}

// plant creates an instance of the fleet that no controller requested. It has no node.
func (s strays) plant(t *testing.T, d dialect, uid, name string) provider.Instance {
	t.Helper()
	return s.plantFor(t, d, s.owner, provider.Instance{UID: uid, Namespace: d.namespace, Name: name})
}

// plantFor creates an instance as another control plane would.
func (s strays) plantFor(t *testing.T, d dialect, owner string, i provider.Instance) provider.Instance {
	t.Helper()
	spec := fmt.Appendf(nil, `{"apiVersion":%q,"kind":"KubemarkMachineProviderConfig","backend":"memory"}`, specVersions[d.group])
	class := provider.Class{API: d.group, Cluster: d.cluster, Owner: owner, Spec: spec}
	i, err := s.console.Plant(t.Context(), class, i)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// has reports whether the instance exists, even if it is being terminated.
func (s strays) has(ctx context.Context, d dialect, i provider.Instance) (bool, error) {
	all, err := s.console.Instances(ctx, d.cluster)
	for _, o := range all {
		if o.ID == i.ID {
			return true, err
		}
	}
	return false, err
}

// collected waits until the instance is terminated, and fails if this happens within its grace period.
func (s strays) collected(t *testing.T, d dialect, i provider.Instance, seenAfter time.Time) {
	t.Helper()
	eventually(t, "instance "+i.ID+" of "+i.Name+" collected", func(ctx context.Context) (string, error) {
		if there, err := s.has(ctx, d, i); there || err != nil {
			return "it is there", err
		}
		return "", nil
	})
	if waited := time.Since(seenAfter); waited < strayGrace {
		t.Errorf("instance %s of %s went after %s, within its grace period", i.ID, i.Name, waited)
	}
}

func (s strays) double(t *testing.T, d dialect) {
	name := "double-" + d.name
	d.machine(t, s.Fleet, name)
	own := d.instance(t, s.Fleet, name)
	m := d.object("Machine", name)
	planted := time.Now()
	twin := s.plant(t, d, own.UID, name)
	merge(t, s.Fleet, m, `{"metadata":{"annotations":{"example.com/look":"again"}}}`)
	s.unrecorded(t, m, twin.ID)
	told(t, s.Fleet, m, "DuplicateInstance", twin.ID+" was found beside "+own.ProviderID, "it is in quarantine")
	told(t, s.Fleet, m, "OrphanQuarantined", twin.ID)
	s.collected(t, d, twin, planted)
	told(t, s.Fleet, m, "OrphanDeleted", twin.ID)

	merge(t, s.Fleet, m, `{"metadata":{"annotations":{"example.com/look":"once more"}}}`)
	s.unrecorded(t, m, "")
	told(t, s.Fleet, m, "DuplicateGone", twin.ID)
	if now := d.instance(t, s.Fleet, name); now.ID != own.ID {
		t.Errorf("the machine's instance was %s and is %s", own.ID, now.ID)
	}
	if id, _, err := unstructured.NestedString(m.Object, "spec", "providerID"); err != nil || id != own.ProviderID {
		t.Errorf("the machine has recorded %q (%v), want %q as before", id, err, own.ProviderID)
	}
}

// unrecorded waits until the machine lists exactly these instances besides its own.
func (s strays) unrecorded(t *testing.T, m *unstructured.Unstructured, ids string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s has %q in %s", m.GetName(), ids, lenses.UnrecordedAnnotation), func(ctx context.Context) (string, error) {
		if err := s.Client.Get(ctx, client.ObjectKeyFromObject(m), m); err != nil {
			return "", err
		}
		if got := m.GetAnnotations()[lenses.UnrecordedAnnotation]; got != ids {
			return fmt.Sprintf("it has %q", got), nil
		}
		return "", nil
	})
}

func (s strays) stranger(t *testing.T) {
	if err := s.console.SetPassword("another"); err != nil {
		t.Fatal(err)
	}
	before, err := s.failures(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	planted, theirs := map[string]provider.Instance{}, map[string]provider.Instance{}
	for _, d := range dialects {
		theirs[d.name] = s.plantFor(t, d, "another", provider.Instance{UID: "theirs-" + d.name, Namespace: d.namespace, Name: "theirs-" + d.name})
		planted[d.name] = s.plant(t, d, "unknown-"+d.name, "stranger-"+d.name)
	}
	begin := time.Now()
	eventually(t, "listings denied for longer than the grace period", func(ctx context.Context) (string, error) {
		now, err := s.failures(ctx)
		if denied := now - before; denied < 6 || time.Since(begin) < 2*strayGrace {
			return fmt.Sprintf("%v were, in %s", denied, time.Since(begin)), err
		}
		return "", err
	})
	for _, d := range dialects {
		if there, err := s.has(t.Context(), d, planted[d.name]); !there || err != nil {
			t.Errorf("instance %s was terminated although it was not listed: %v", planted[d.name].ID, err)
		}
	}

	if err := s.console.SetPassword(""); err != nil {
		t.Fatal(err)
	}
	seen := time.Now()
	for _, d := range dialects {
		s.collected(t, d, planted[d.name], seen)
		d.instance(t, s.Fleet, "double-"+d.name)
		if there, err := s.has(t.Context(), d, theirs[d.name]); !there || err != nil {
			t.Errorf("instance %s of another control plane was removed: %v", theirs[d.name].ID, err)
		}
	}
}

var failedListings = regexp.MustCompile(`(?m)^millwright_orphan_listing_failures_total\{.*\} (\d+)$`)

// failures returns the number of listings that had no valid result.
func (s strays) failures(ctx context.Context) (total int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.metrics+"/metrics", http.NoBody)
	if err != nil {
		return 0, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	for _, match := range failedListings.FindAllSubmatch(body, -1) {
		n, err := strconv.Atoi(string(match[1]))
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, err
}
