package node

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/millwright-dev/millwright/internal/engine/nodemeta"
	"github.com/millwright-dev/millwright/provider"
)

func TestFind(t *testing.T) {
	query := Query{ProviderID: "sim:///a/1", InternalIPs: []string{"10.0.0.1", "10.0.0.2"}, MachineKey: "ns/m1"}
	named := query
	named.Name = "w1"
	query.Created = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	since := func(after time.Duration) func(*corev1.Node) {
		return func(n *corev1.Node) { n.CreationTimestamp = metav1.NewTime(query.Created.Add(after)) }
	}
	spelled := Query{ProviderID: "sim:///a/1", Same: func(a, b string) bool { return provider.SameInstance(nil, a, b) }}
	tests := []struct {
		reason string
		query  Query
		nodes  []client.Object
		want   string
		err    string
	}{
		{"there is no node", query, []client.Object{node("w9")}, "", ""},
		{"the recorded name finds it", named, []client.Object{node("w1")}, "w1", ""},
		{"the provider ID does", query, []client.Object{node("w1", withProviderID("sim:///a/1")), node("w2")}, "w1", ""},
		{"the internal IP does", query, []client.Object{node("w1", withIPs("10.0.0.2")), node("w2", withIPs("10.0.0.3"))}, "w1", ""},
		{"a node with both addresses is one node", query, []client.Object{node("w1", withIPs("10.0.0.1", "10.0.0.2"))}, "w1", ""},
		{"the name comes first", named, []client.Object{node("w1"), node("w2", withProviderID("sim:///a/1"))}, "w1", ""},
		{"the provider ID comes before the address", query, []client.Object{
			node("w1", withIPs("10.0.0.1")), node("w2", withProviderID("sim:///a/1")),
		}, "w2", ""},
		{"a name that another machine's node has is passed over", named, []client.Object{
			node("w1", withAnnotation(MachineAnnotation, "ns/m2")), node("w2", withProviderID("sim:///a/1")),
		}, "w2", ""},
		{"whichever way it is marked", named, []client.Object{node("w1", withLabel(MachineNameLabel, "m2"))}, "", ""},
		{"our own mark is fine", named, []client.Object{
			node("w1", withLabel(MachineNameLabel, "m1"), withAnnotation(MachineAnnotation, "ns/m1")),
		}, "w1", ""},
		{"a name left behind by another instance is passed over", named, []client.Object{node("w1", withProviderID("sim:///a/0"))}, "", ""},
		{"an address left behind, too", query, []client.Object{node("w1", withIPs("10.0.0.1"), withProviderID("sim:///a/0"))}, "", ""},
		{"case is no difference", named, []client.Object{node("w1", withProviderID("SIM:///A/1"))}, "w1", ""},
		{"nor is another spelling of the same instance", spelled, []client.Object{node("w1", withProviderID("sim:////zone/1"))}, "w1", ""},
		{"what only ends alike is another's", spelled, []client.Object{node("w1", withProviderID("other:///a/1"))}, "", ""},
		{"two nodes of one provider ID are an error", query, []client.Object{
			node("w1", withProviderID("sim:///a/1")), node("w2", withProviderID("sim:///a/1")),
		}, "", "expected 1 node with provider ID sim:///a/1, found 2: w1, w2"},
		{"two nodes of the machine's addresses, too", query, []client.Object{
			node("w1", withIPs("10.0.0.1")), node("w2", withIPs("10.0.0.2")),
		}, "", "expected 1 node with internal IP"},
		{"a machine that has no instance, and never had one, has no node that shows one", Query{Name: "w1", MachineKey: "ns/m1"}, []client.Object{
			node("w1", withProviderID("sim:///a/0"), withAnnotation(MachineAnnotation, "ns/m1")),
		}, "", ""},
		{"whatever mark it has", Query{MachineKey: "ns/m1"}, []client.Object{node("w1", withProviderID("sim:///a/0"), withLabel(MachineNameLabel, "m1"))}, "", ""},
		{"a mark without a provider ID may be the machine's", Query{MachineKey: "ns/m1"}, []client.Object{node("w1", withLabel(MachineNameLabel, "m1"))}, "w1", ""},
		{"so may any, where the infrastructure does not tell the provider ID", Query{Name: "w1", MachineKey: "ns/m1", Instance: true}, []client.Object{
			node("w1", withProviderID("sim:///a/0")),
		}, "w1", ""},
		{"a node that was there before the machine, and copies its provider ID", query, []client.Object{
			node("w1", withProviderID("sim:///a/1"), since(-time.Hour)), node("w2", withProviderID("sim:///a/1"), since(time.Minute)),
		}, "w2", ""},
		{"its address", query, []client.Object{node("w1", withIPs("10.0.0.1"), since(-time.Hour)), node("w2", withIPs("10.0.0.1"), since(time.Minute))}, "w2", ""},
		{"its mark", query, []client.Object{
			node("w1", withAnnotation(MachineAnnotation, "ns/m1"), since(-time.Hour)), node("w2", withLabel(MachineNameLabel, "m1"), since(time.Minute)),
		}, "w2", ""},
		{"clocks differ", query, []client.Object{
			node("w1", withIPs("10.0.0.1"), since(-30*time.Second)), node("w2", withIPs("10.0.0.1"), since(time.Minute)),
		}, "", "expected 1 node with internal IP"},
		{"both were there before: nobody can tell", query, []client.Object{
			node("w1", withIPs("10.0.0.1"), since(-time.Hour)), node("w2", withIPs("10.0.0.1"), since(-2*time.Hour)),
		}, "", "expected 1 node with internal IP"},
		{"a machine that was declared for a node", query, []client.Object{node("w1", withIPs("10.0.0.1"), since(-time.Hour))}, "w1", ""},
		{"a mark of another API is another's", inAPI(query, MachineAnnotation), []client.Object{node("w1", withLabel(MachineNameLabel, "m1"))}, "", ""},
		{"either way", inAPI(query, MachineNameLabel), []client.Object{node("w1", withAnnotation(MachineAnnotation, "ns/m1"))}, "", ""},
		{"whatever the name", inAPI(named, MachineAnnotation), []client.Object{node("w1", withLabel(MachineNameLabel, "m1"))}, "", ""},
		{"and whatever the address", inAPI(query, MachineAnnotation), []client.Object{node("w1", withLabel(MachineNameLabel, "m1"), withIPs("10.0.0.1"))}, "", ""},
		{"unless it shows the machine's instance: that was in the other API before", inAPI(named, MachineAnnotation), []client.Object{
			node("w1", withLabel(MachineNameLabel, "m1"), withProviderID("sim:///a/1")),
		}, "w1", ""},
		{"its own API's mark finds it", inAPI(query, MachineNameLabel), []client.Object{node("w1", withLabel(MachineNameLabel, "m1"))}, "w1", ""},
		{"beside one of the other, too", inAPI(query, MachineAnnotation), []client.Object{
			node("w1", withLabel(MachineNameLabel, "m1"), withAnnotation(MachineAnnotation, "ns/m1")),
		}, "w1", ""},
		{"nothing is known, nothing is found", Query{}, []client.Object{node("w1")}, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			w := newWorld(t, interceptor.Funcs{}, tt.nodes...)
			n, err := w.Find(t.Context(), tt.query)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("got error %v, want %q", err, tt.err)
				}
				return
			}
			got := ""
			if n != nil {
				got = n.Name
			}
			if err != nil || got != tt.want {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

// inAPI is the query of a machine of the API whose nodes have the mark.
func inAPI(q Query, mark string) Query {
	q.Mark = mark
	return q
}

func TestTaken(t *testing.T) {
	query := Query{Name: "w1", ProviderID: "sim:///a/1", MachineKey: "ns/m1"}
	tests := []struct {
		reason string
		node   client.Object
		want   string
	}{
		{"there is none of the name", node("w2", withProviderID("sim:///a/0")), ""},
		{"it is the machine's", node("w1", withProviderID("sim:///a/1")), ""},
		{"nobody said whose it is", node("w1"), ""},
		{"another instance shows itself", node("w1", withProviderID("sim:///a/0")), "instance sim:///a/0"},
		{"another machine marked it", node("w1", withLabel(MachineNameLabel, "m2")), "another machine"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			n, got, err := query.Taken(t.Context(), newWorld(t, interceptor.Funcs{}, tt.node).Client)
			if err != nil || got != tt.want || (n != nil) != (got != "") {
				t.Errorf("got %v, %q, %v, want %q", n, got, err, tt.want)
			}
		})
	}
}

func TestFindDoesNotTakeAFailureForNone(t *testing.T) {
	denied := errors.New("denied")
	w := newWorld(t, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return denied
		},
	})
	if n, err := w.Find(t.Context(), Query{Name: "w1"}); n != nil || !errors.Is(err, denied) {
		t.Errorf("got %v, %v", n, err)
	}
	if _, by, err := (Query{Name: "w1"}).Taken(t.Context(), w.Client); by != "" || !errors.Is(err, denied) {
		t.Errorf("taken by %q, %v", by, err)
	}
}

func TestNoCluster(t *testing.T) {
	var c *Cluster
	ctx := t.Context()
	n, err := c.Find(ctx, Query{Name: "w1"})
	if n != nil || err != nil || c.Exists() {
		t.Errorf("found %v, %v", n, err)
	}
	if _, wrote, err := c.Apply(ctx, nil, nodemeta.Want{}); wrote || err != nil {
		t.Errorf("applied %v, %v", wrote, err)
	}
	if _, held, err := c.Cordon(ctx, nil, nodemeta.Want{}); held != "" || err != nil {
		t.Errorf("cordon %q, %v", held, err)
	}
	if d, err := c.Drain(ctx, nil, noPolicy); !d.Done || err != nil {
		t.Errorf("drain %v, %v", d, err)
	}
	if err := c.Delete(ctx, nil, "x"); err != nil {
		t.Error(err)
	}
	if token, err := c.Token(ctx, TokenRequest{}); token != "" || err != nil {
		t.Errorf("token %q, %v", token, err)
	}
	if gone, err := c.DropToken(ctx, machine, nil); !gone || err != nil {
		t.Error(gone, err)
	}
}

// TestNodeIndexes: who reads nodes alone makes a cache watch nothing else.
func TestNodeIndexes(t *testing.T) {
	var names []string
	for _, i := range NodeIndexes() {
		if _, is := i.Object.(*corev1.Node); !is {
			t.Errorf("index %s is over %T", i.Name, i.Object)
		}
		names = append(names, i.Name)
	}
	if got, want := strings.Join(names, " "), strings.Join([]string{ProviderIDIndex, InternalIPIndex, MarkIndex}, " "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
