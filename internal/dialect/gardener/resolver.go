package gardener

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/approval"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// Resolver reads the classes and secrets of machines of this API.
type Resolver struct {
	// Reader reads classes and secrets.
	Reader   client.Reader
	Defaults Defaults
	// Cluster is the ownership scope; empty is the machine's namespace, which in Gardener is the technical
	// name of the cluster.
	Cluster string
	// TokenGroups are the extra groups of bootstrap tokens
	// (--bootstrap-token-auth-extra-groups).
	TokenGroups string
}

var _ dialect.Resolver[*v1alpha1.Machine] = Resolver{}

// Once implements [dialect.Resolver].
func (d Resolver) Once() dialect.Resolver[*v1alpha1.Machine] {
	d.Reader = dialect.Once(d.Reader)
	return d
}

// Templates returns the classes.
func (d Resolver) Templates(ctx context.Context) (out []dialect.Template[*v1alpha1.Machine], err error) {
	var list v1alpha1.MachineClassList
	if err := d.Reader.List(ctx, &list); err != nil {
		return nil, err
	}
	for i := range list.Items {
		c := &list.Items[i]
		m := &v1alpha1.Machine{}
		m.Namespace = c.Namespace
		m.Spec.Class = v1alpha1.ClassSpec{Kind: v1alpha1.KindMachineClass, Name: c.Name}
		out = append(out, dialect.Template[*v1alpha1.Machine]{Anchor: c, Machine: m})
	}
	return out, nil
}

// Class follows the machine's reference to its class, and the references of the class to its secrets.
func (d Resolver) Class(ctx context.Context, m *v1alpha1.Machine) (dialect.Class, error) {
	c, err := d.class(ctx, m)
	dialect.Locate(&c.Class, m, kept(m), m.Spec.ProviderID != "")
	return c, err
}

// class returns the machine's class, wherever its instance is.
func (d Resolver) class(ctx context.Context, m *v1alpha1.Machine) (dialect.Class, error) {
	c := dialect.Class{
		Class: provider.Class{
			API: provider.Gardener, Cluster: cmp.Or(d.Cluster, m.Namespace),
			Object: provider.ObjectRef{
				APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.KindMachineClass, Namespace: m.Namespace, Name: m.Spec.Class.Name,
			},
		},
		SpecPath:      fmt.Sprintf("machineclass %s: providerSpec", m.Spec.Class.Name),
		TokenLifetime: d.tokenLifetime(m),
		TokenGroups:   d.TokenGroups,
	}
	var mc v1alpha1.MachineClass
	if err := d.Reader.Get(ctx, client.ObjectKey{Namespace: m.Namespace, Name: m.Spec.Class.Name}, &mc); err != nil {
		return c, fmt.Errorf("spec.class.name: read machineclass %s: %w", m.Spec.Class.Name, err)
	}
	c.Spec = mc.ProviderSpec.Raw
	c.Fallbacks = dialect.Fallbacks(m, &mc)
	if t := mc.NodeTemplate; t != nil {
		c.Region, c.Zone, c.NodeCapacity, c.Capacity = t.Region, t.Zone, t.Capacity, t.VirtualCapacity
	}
	data, absent, err := secrets(ctx, d.Reader, &mc)
	if err != nil {
		return c, err
	}
	c.Absent = absent
	c.UserData, c.UserDataErr = data[v1alpha1.SecretKeyUserData], nil
	if _, ok := data[v1alpha1.SecretKeyUserData]; !ok {
		c.UserDataErr = fmt.Errorf("machineclass %s: secretRef: no secret with the key %s%s", mc.Name, v1alpha1.SecretKeyUserData, absent)
	}
	c.Credentials = maps.Clone(data)
	delete(c.Credentials, v1alpha1.SecretKeyUserData)
	return c, validate(&mc)
}

// secrets merges the data of the class's secrets; that of the credentials wins. A secret that does not exist
// counts as empty; absent names those, as the end of a sentence.
func secrets(ctx context.Context, r client.Reader, mc *v1alpha1.MachineClass) (out map[string][]byte, absent string, err error) {
	out = map[string][]byte{}
	for field, ref := range refs(mc) {
		if ref.Namespace == "" {
			ref.Namespace = mc.Namespace
		}
		data, err := dialect.Secret(ctx, r, ref, "machineclass "+mc.Name+": "+field)
		if errors.IsNotFound(err) {
			absent += fmt.Sprintf("; secret %s/%s does not exist", ref.Namespace, ref.Name)
			continue
		}
		if err != nil {
			return nil, "", err
		}
		maps.Copy(out, data)
	}
	return out, absent, nil
}

// refs yields the class's secrets in the order in which they are merged.
func refs(mc *v1alpha1.MachineClass) func(yield func(string, provider.SecretRef) bool) {
	return func(yield func(string, provider.SecretRef) bool) {
		if s := mc.SecretRef; s != nil && !yield("secretRef", provider.SecretRef{Namespace: s.Namespace, Name: s.Name}) {
			return
		}
		if s := mc.CredentialsSecretRef; s != nil {
			yield("credentialsSecretRef", provider.SecretRef{Namespace: s.Namespace, Name: s.Name})
		}
	}
}

// ClassFaults returns the errors that prevent the creation of machines of the class. The original looks for
// them when it reconciles: a node template may be absent, but not incomplete.
func ClassFaults(mc *v1alpha1.MachineClass) (out []lifecycle.Fault) {
	t := mc.NodeTemplate
	if t == nil {
		return nil
	}
	for _, k := range []corev1.ResourceName{corev1.ResourceCPU, "gpu", corev1.ResourceMemory} {
		if _, ok := t.Capacity[k]; !ok {
			out = append(out, lifecycle.Fault{Field: "nodeTemplate.capacity", Message: fmt.Sprintf("must have the key %s", k)})
		}
	}
	for _, f := range []struct{ name, value string }{{"instanceType", t.InstanceType}, {"region", t.Region}, {"zone", t.Zone}} {
		if f.value == "" {
			out = append(out, lifecycle.Fault{Field: "nodeTemplate." + f.name, Message: "must be set"})
		}
	}
	return out
}

// validate returns the first fault of a class.
func validate(mc *v1alpha1.MachineClass) error {
	faults := ClassFaults(mc)
	if len(faults) == 0 {
		return nil
	}
	return provider.InvalidField("machineclass "+mc.Name+": "+faults[0].Field, "%s", faults[0].Message)
}

// tokenLifetime returns how long the machine may take to join. Without a limit it is the time in which a
// certificate is approved for the machine.
func (d Resolver) tokenLifetime(m *v1alpha1.Machine) time.Duration {
	return cmp.Or(Machines{d.Defaults}.creationTimeout(m), approval.JoinWindow)
}
