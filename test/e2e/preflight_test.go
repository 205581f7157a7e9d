package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/config"
	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
	"github.com/millwright-dev/millwright/internal/plugin/infrastructures"
	"github.com/millwright-dev/millwright/internal/plugin/preflight"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/kubemark"
)

var updatePreflight = flag.Bool("update-preflight", false, "write the golden file of preflight anew")

// abandoned is a cluster whose originals ended in the middle of their work. No controller runs in it.
func abandoned(t *testing.T) place {
	t.Helper()
	p, _ := bare(t)
	p.definitions(t)
	for _, o := range leftBehind(t) {
		p.leave(t, o)
	}
	return p
}

// definitions installs the CRDs. Machines of machine.sapcloud.io have a field of a future version.
func (p place) definitions(t *testing.T) {
	t.Helper()
	all, err := config.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range all {
		if crd.Name == "machines.machine.sapcloud.io" {
			crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["warp"] = apiextensionsv1.JSONSchemaProps{Type: "integer"}
		}
		p.create(t, crd)
	}
	for _, crd := range all {
		eventually(t, crd.Name+" is served", func(ctx context.Context) (string, error) {
			if err := p.Get(ctx, client.ObjectKeyFromObject(crd), crd); err != nil {
				return "", err
			}
			for _, c := range crd.Status.Conditions {
				if c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue {
					return "", nil
				}
			}
			return "not yet", nil
		})
	}
}

// leftBehind returns the objects of testdata/preflight.yaml, in their order.
func leftBehind(t *testing.T) (out []*unstructured.Unstructured) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "preflight.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(raw), 4096); ; {
		o := &unstructured.Unstructured{}
		if err := decoder.Decode(&o.Object); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		out = append(out, o)
	}
}

// leave stores an object with its status. The annotation "test/owner" names its controller; "test/deleted" means that it is
// under deletion.
func (p place) leave(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	notes := o.GetAnnotations()
	owner, deleted := notes["test/owner"], notes["test/deleted"] != ""
	maps.DeleteFunc(notes, func(key, _ string) bool { return strings.HasPrefix(key, "test/") })
	o.SetAnnotations(notes)
	if kind, name, ok := strings.Cut(owner, "/"); ok {
		of := &unstructured.Unstructured{}
		of.SetGroupVersionKind(o.GroupVersionKind().GroupVersion().WithKind(kind))
		if err := p.Get(t.Context(), client.ObjectKey{Namespace: o.GetNamespace(), Name: name}, of); err != nil {
			t.Fatal(err)
		}
		o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: of.GetAPIVersion(), Kind: kind, Name: name, UID: of.GetUID(), Controller: ptr.To(true)}})
	}
	status, has := o.Object["status"]
	p.create(t, o)
	if has {
		o.Object["status"] = status
		if err := p.Status().Update(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	if deleted {
		if err := p.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

// lease creates a lease with a holder, renewed some time before.
func (p place) lease(t *testing.T, name string, ago time.Duration) *coordinationv1.Lease {
	t.Helper()
	l := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: ptr.To("host-1"), LeaseDurationSeconds: ptr.To[int32](3600), RenewTime: ptr.To(metav1.NewMicroTime(time.Now().Add(-ago)))},
	}
	p.create(t, l)
	return l
}

// flies runs `kubectl machine preflight`.
func (p place) flies(t *testing.T, args ...string) (said string, code int) {
	t.Helper()
	c := exec.Command(filepath.Join(bin, "kubectl-machine"), append([]string{"preflight", "--kubeconfig", p.kubeconfig}, args...)...)
	var messages bytes.Buffer
	c.Stderr = &messages
	out, err := c.Output()
	if exit := (&exec.ExitError{}); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	return string(out) + messages.String(), code
}

// moments are the parts of the output that differ between runs.
var moments = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d UTC|(less than )?(\d+h)?(\d+m)?\d+s( ago)?|\d{4}-\d\d-\d\dT[0-9:]+Z|(for )?less than a (second|minute)`)

// TestPreflight judges the objects that originals have left: the obstacles, the operations that continue, and that nothing else
// happens.
func TestPreflight(t *testing.T) {
	t.Parallel()
	p := abandoned(t)
	held := []*coordinationv1.Lease{p.lease(t, "machine-controller", 0), p.lease(t, "cluster-machine-approver-leader", 0)}
	p.lease(t, "machine-controller-manager", 2*time.Hour)

	said, code := p.flies(t)
	// The line breaks depend on the differing parts.
	got := moments.ReplaceAllString(strings.ReplaceAll(said, "\n    ", " "), "…")
	golden := filepath.Join("testdata", "preflight.golden")
	if *updatePreflight {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" || code != 1 {
		t.Errorf("exit code %d (-want +got)\n%s", code, diff)
	}
	for line := range strings.Lines(said) {
		if len([]rune(strings.TrimSpace(line))) > 80 {
			t.Errorf("over 80 columns: %s", line)
		}
	}

	for _, l := range held {
		l.Spec.HolderIdentity = nil
		if err := p.Update(t.Context(), l); err != nil {
			t.Fatal(err)
		}
	}
	report := p.report(t, 1)
	if got := reasons(report); !slices.Equal(got, []string{preflight.ReasonProvider, preflight.ReasonProvider, preflight.ReasonField}) {
		t.Errorf("without a held lease, the obstacles are %v", got)
	}
	if report := p.report(t, 1, "--api", "gardener", "--serves", "Hetzner"); len(report.Blocks) != 1 || report.Blocks[0].Reason != preflight.ReasonField {
		t.Errorf("with a provider of one's own, %+v stands in the way of one API", report.Blocks)
	}
	if report := p.report(t, 0, "-n", "quiet"); !report.Ready || !report.Quiet || len(report.Objects) != 3 {
		t.Errorf("the report about objects at rest is %+v", report)
	}
	if said, code := p.flies(t, "-n", "quiet", "--rights", "machine-controller=quiet/guest"); code != 1 || !strings.Contains(said, "the account quiet/guest may not do all that machine-controller has to") {
		t.Errorf("an account without rights: %d\n%s", code, said)
	}
	for _, bad := range [][]string{{"--rights", "x"}, {"--rights", "x=y/z"}, {"--api", "x"}, {"machine/x"}, {"-o", "sheet"}} {
		if said, code := p.flies(t, bad...); code != 2 {
			t.Errorf("%v: exit code %d\n%s", bad, code, said)
		}
	}
	p.keepsItsWord(t)
	if !slices.Contains(infrastructures.Names(), kubemark.Kind) {
		t.Errorf("the kind %s is not among those that are served", kubemark.Kind)
	}
}

func (p place) report(t *testing.T, code int, args ...string) (r preflight.Report) {
	t.Helper()
	said, got := p.flies(t, append(args, "-o", "json")...)
	if err := json.Unmarshal([]byte(said), &r); err != nil || got != code {
		t.Errorf("%v: exit code %d, want %d: %v\n%s", args, got, code, err, said)
	}
	return r
}

func reasons(r preflight.Report) (out []string) {
	for _, b := range r.Blocks {
		out = append(out, b.Reason)
	}
	return out
}

// keepsItsWord: the controllers of sets write only what preflight calls bookkeeping, while they continue the rollout.
func (p place) keepsItsWord(t *testing.T) {
	t.Helper()
	type fate struct {
		uid        types.UID
		generation int64
		deleting   bool
	}
	look := func(v preflight.Verdict) fate {
		version := "v1alpha1"
		if v.API == provider.OpenShift {
			version = "v1beta1"
		}
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(schema.GroupVersionKind{Group: v.API, Version: version, Kind: v.Kind})
		if err := p.Get(t.Context(), client.ObjectKey{Namespace: v.Namespace, Name: v.Name}, o); err != nil {
			t.Fatal(err)
		}
		return fate{o.GetUID(), o.GetGeneration(), o.GetDeletionTimestamp() != nil}
	}
	said, _ := p.flies(t, "-o", "json")
	var r preflight.Report
	if err := json.Unmarshal([]byte(said), &r); err != nil {
		t.Fatal(err)
	}
	before := map[string]fate{}
	for _, v := range r.Objects {
		if v.Effect == preflight.Bookkeeping {
			before[v.API+v.String()] = look(v)
		}
	}
	address := devplanetest.FreeAddress(t)
	p.start(t, "machine-controller-manager", "machine-controller-manager", address, "--apis=openshift,gardener", "--control-kubeconfig="+p.kubeconfig,
		"--namespace=left", "--port="+address[strings.LastIndex(address, ":")+1:])
	eventually(t, "the half-done rollout continues", func(ctx context.Context) (string, error) {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(schema.GroupVersionKind{Group: provider.Gardener, Version: "v1alpha1", Kind: "MachineSet"})
		if err := p.Get(ctx, client.ObjectKey{Namespace: "left", Name: "half-aaaaa"}, o); err != nil {
			return "", err
		}
		if n, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas"); n != 1 {
			return "the old set has its size still", nil
		}
		return "", nil
	})
	time.Sleep(5 * time.Second) // time in which other changes would have begun
	for _, v := range r.Objects {
		if was, ok := before[v.API+v.String()]; ok && look(v) != was {
			t.Errorf("%s was to see bookkeeping only: %+v became %+v", v.Subject, was, look(v))
		}
	}
}
