package remote

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/remote/wire"
)

// full is an instance with a value in every field.
func full() provider.Instance {
	return provider.Instance{
		ID: "i-1", UID: "uid", Name: "name", Owner: "owner", Namespace: "ns", ProviderID: "x:///i-1", NodeName: "node",
		Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "1.2.3.4"}, {Type: corev1.NodeHostName, Address: "node"}},
		State:     provider.Stopped, RawState: "off", Uninitialized: true, Type: "large", Region: "eu", Zone: "eu-1", Interruptible: true,
		Fault:   &provider.Error{Kind: provider.Exhausted, Scope: provider.ScopeZone, After: time.Minute, Err: errors.New("no room")},
		Created: time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC), Tags: map[string]string{"a": "b"},
	}
}

// TestNothingIsLost: a new field of the contract goes over the wire too.
func TestNothingIsLost(t *testing.T) {
	same := cmp.Options{
		cmp.Comparer(func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 }),
		cmp.Comparer(func(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) }),
		cmpopts.EquateEmpty(),
	}
	class := provider.Class{
		API: provider.OpenShift, Cluster: "c", Owner: "o", Spec: []byte("{}"), Fallbacks: [][]byte{[]byte("{}")}, Credentials: map[string][]byte{"k": {0, 0xff}},
		Object: provider.ObjectRef{Kind: "MachineClass", Name: "n"}, Region: "r", Zone: "z", NodeCapacity: corev1.ResourceList{"gpu": resource.MustParse("2")},
	}
	size := provider.Size{
		VCPU: 1, GPU: 2, MemoryMiB: 3, Architecture: "arm64", MaxPods: 4, EphemeralStorageMiB: 5, GPUResource: "nvidia.com/gpu",
		Labels: map[string]string{"a": "b"}, Taints: []corev1.Taint{{Key: "k", Value: "v", Effect: corev1.TaintEffectNoExecute}},
	}
	ref := provider.Ref{UID: "u", Namespace: "ns", Name: "n", ProviderID: "p"}
	object := provider.ObjectRef{APIVersion: "v1", Kind: "Secret", Namespace: "ns", Name: "n"}
	left := provider.Leftover{Kind: "disk", ID: "d", UID: "u", Name: "n", Owner: "o", Namespace: "ns"}
	choice := provider.Choice{Name: "n", Region: "r", Zone: "z", Type: "t", Equal: true}
	secret := provider.SecretRef{Namespace: "ns", Name: "n"}
	there, err := toClass(copied(t, classOf(class)))
	if err != nil {
		t.Fatal(err)
	}
	there.Fallbacks = class.Fallbacks // a provider never sees them
	for _, c := range []struct{ was, is any }{
		{class, there},
		{size, toSize(copied(t, sizeOf(size)))},
		{ref, toRef(copied(t, refOf(ref)))},
		{object, toObjectRef(copied(t, objectRefOf(object)))},
		{left, toLeftover(copied(t, leftoverOf(left)))},
		{choice, toChoice(copied(t, choiceOf(choice)))},
		{secret, toSecret(copied(t, secretOf(secret)))},
		{full(), toInstance(copied(t, instanceOf(full())))},
	} {
		for n := range reflect.TypeOf(c.was).NumField() {
			if f := reflect.ValueOf(c.was).Field(n); f.IsZero() {
				t.Errorf("field %s of %T is not tried", reflect.TypeOf(c.was).Field(n).Name, c.was)
			}
		}
		if d := cmp.Diff(c.was, c.is, same); d != "" {
			t.Errorf("%T changes on the way: %s", c.was, d)
		}
	}
}

// copied returns a message as the other side receives it.
func copied[M proto.Message](t *testing.T, m M) M {
	t.Helper()
	raw, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	out := m.ProtoReflect().New().Interface()
	if err := proto.Unmarshal(raw, out); err != nil {
		t.Fatal(err)
	}
	return out.(M)
}

// TestWordsThatInfrastructuresUse: invalid UTF-8 costs only those bytes, and not the listing.
func TestWordsThatInfrastructuresUse(t *testing.T) {
	i := full()
	i.RawState, i.Tags = "o\xffff", map[string]string{"\xffa": "b\xff"}
	got := toInstance(copied(t, instanceOf(i)))
	if got.RawState != "off" || got.Tags["a"] != "b" {
		t.Errorf("got %q, %v", got.RawState, got.Tags)
	}
	i.Tags, i.Created, i.Fault, i.Addresses = nil, time.Time{}, nil, nil
	if got := toInstance(copied(t, instanceOf(i))); got.Tags != nil || !got.Created.IsZero() || got.Fault != nil || got.Addresses != nil {
		t.Errorf("what is not known becomes %+v", got)
	}
	i.Tags = map[string]string{}
	if got := toInstance(copied(t, instanceOf(i))); got.Tags == nil {
		t.Error("an instance without tags becomes one whose tags are not reported")
	}
}

// TestErrorsAreToldAsTheyWere: the fields that the engine reads from an error, and the text for users, stay
// the same.
func TestErrorsAreToldAsTheyWere(t *testing.T) {
	for reason, err := range map[string]error{
		"any":            errors.New("broken"),
		"transient":      provider.Errorf(provider.Transient, "again"),
		"throttled":      provider.ThrottledFor(7*time.Second, errors.New("slow down")),
		"exhausted":      provider.ExhaustedIn(provider.ScopeAccount, "no %s", "room"),
		"denied":         provider.Errorf(provider.Denied, "no"),
		"conflict":       provider.Errorf(provider.Conflict, "busy"),
		"a field":        provider.InvalidField("spec.zone", "is odd"),
		"a field inside": fmt.Errorf("open: %w", provider.InvalidField("spec.zone", "is odd")),
		"only a kind":    &provider.Error{Kind: provider.Denied},
		"several":        errors.Join(provider.InvalidField("a", "x"), provider.InvalidField("b", "y")),
	} {
		got := toError(copied(t, failureOf(err)))
		field := func(err error) string {
			e, _ := errors.AsType[*provider.Error](err)
			if e == nil {
				return ""
			}
			return e.Field
		}
		if got.Error() != err.Error() || provider.KindOf(got) != provider.KindOf(err) || provider.AfterOf(got) != provider.AfterOf(err) ||
			provider.ScopeOf(got) != provider.ScopeOf(err) || field(got) != field(err) {
			t.Errorf("%s: %#v is told as %#v", reason, err, got)
		}
	}
	if err := toError(copied(t, &wire.Failure{})); err.Error() != "Transient" || provider.KindOf(err) != provider.Transient {
		t.Errorf("an empty failure is %v", err)
	}
}

// TestPatternsReadProviderIDs: the first pattern that matches the whole decides.
func TestPatternsReadProviderIDs(t *testing.T) {
	all, err := checkIdentities([]*wire.Identity{
		{Pattern: `aws:///[^/]+/(i-[0-9a-f]+)`, Name: "$1"},
		{Pattern: `(?i)azure:///subscriptions/([^/]+)/.*/([^/]+)`, Name: "$1/$2", FoldCase: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{
		"aws:///eu-1a/i-1f": "i-1f", "aws:///eu-1/i-1f": "i-1f", "aws:///eu-1a/i-1f/x": "", "x aws:///eu-1a/i-1f": "", "": "", "aws:///eu-1a/I-1F": "",
		"Azure:///subscriptions/S/x/VM-1": "s/vm-1",
	} {
		if got := read(all, id); got != want {
			t.Errorf("%q is named %q, want %q", id, got, want)
		}
	}
}
