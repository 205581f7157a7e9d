package collect

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/runtime/node"
)

// nodeNamed returns the node with this name. It returns nil without an error if the node does not exist.
func nodeNamed(ctx context.Context, l *look, name string) (*corev1.Node, error) {
	if whole, ok := l.memo["nodes"].(result[map[string]*corev1.Node]); ok && whole.err == nil {
		return whole.value[name], nil
	}
	var n corev1.Node
	if err := l.Target.Get(ctx, client.ObjectKey{Name: name}, &n); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return &n, nil
}

// others reports whether a node with the name of the machine's node belongs to another machine, by the machine
// controller's rule.
func others(v lifecycle.Machine, n *corev1.Node) bool {
	q := node.Query{Name: n.Name, ProviderID: v.Recorded.ProviderID, MachineKey: v.Namespace + "/" + v.Name, Instance: v.Recorded.Provisioned}
	return q.Anothers(n)
}

// joins records why the machine's node cannot join: another node has its name, or its bootstrap token does not exist.
func joins(ctx context.Context, l *look, f *explain.MachineFacts) {
	v := f.View
	if !f.NodeLooked || f.Node != nil || !v.Deleted.IsZero() || !v.Recorded.Provisioned || v.HadNode() {
		return
	}
	nodes, _ := l.nodes(ctx)
	for _, name := range nodeNames(v) {
		if n := nodes[name]; n != nil && !theirs(v.Namespace, v.Name, v.Recorded.ProviderID, n) && (others(v, n) || n.CreationTimestamp.Time.Before(v.Created)) {
			f.Obstacles.Squatter = n
		}
	}
	key := node.TokenSecret(v.UID)
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	if apierrors.IsNotFound(l.Target.Get(ctx, key, o)) {
		f.Obstacles.NoToken = key.String()
	}
}

// nodeNames returns the names under which the node of a machine may join.
func nodeNames(v lifecycle.Machine) []string {
	names := []string{v.Recorded.NodeName, v.Name}
	for _, a := range v.Recorded.Addresses {
		if a.Type == corev1.NodeInternalDNS || a.Type == corev1.NodeHostName {
			names = append(names, a.Address)
		}
	}
	return names
}

// mostOfValue is the maximum length of a quoted value in bytes.
const mostOfValue = 160

// private has words that mark the names of secret fields. The answer does not quote the values of these fields.
var private = []string{"secret", "password", "token", "userdata"}

// fields returns the fields of a machine's provider spec, except secret fields, or nil if the machine has no provider
// spec.
func fields(o client.Object) (out []explain.Field) {
	m, ok := o.(*machinev1.Machine)
	if !ok || m.Spec.ProviderSpec.Value == nil {
		return nil
	}
	values := map[string]json.RawMessage{}
	if json.Unmarshal(m.Spec.ProviderSpec.Value.Raw, &values) != nil {
		return nil
	}
	for name, raw := range values {
		value := string(raw)
		if value == "null" || slices.ContainsFunc(private, func(w string) bool { return strings.Contains(strings.ToLower(name), w) }) {
			continue
		}
		if len(value) > mostOfValue {
			value = strings.ToValidUTF8(value[:mostOfValue], "") + "..."
		}
		out = append(out, explain.Field{Name: name, Path: "spec.providerSpec.value." + name, Value: value})
	}
	slices.SortFunc(out, func(a, b explain.Field) int { return strings.Compare(a.Path, b.Path) })
	return out
}
