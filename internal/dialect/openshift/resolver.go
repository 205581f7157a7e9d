package openshift

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/provider"
)

// Resolver reads the provider specs and secrets of machines of this API.
type Resolver struct {
	// Reader reads secrets and machine sets.
	Reader client.Reader
	// Clusters reads the defaults of clusters; nil: every machine has its full spec.
	Clusters client.Reader
	// Provider finds the secrets that its specs name; nil reads the fields that all specs share.
	Provider provider.Provider
	// DefaultCluster is the ownership scope of machines under deletion that have neither an origin nor a
	// cluster label.
	DefaultCluster string
	// TokenGroups and TokenLifetime are those of bootstrap tokens, for user data with a token's placeholder;
	// that is an extension of this API, whose own user data has no placeholders.
	TokenGroups   string
	TokenLifetime time.Duration
}

var _ dialect.Resolver[*machinev1.Machine] = Resolver{}

// Once implements [dialect.Resolver].
func (d Resolver) Once() dialect.Resolver[*machinev1.Machine] {
	d.Reader = dialect.Once(d.Reader)
	return d
}

// Templates returns the machine sets.
func (d Resolver) Templates(ctx context.Context) (out []dialect.Template[*machinev1.Machine], err error) {
	var list machinev1.MachineSetList
	if err := d.Reader.List(ctx, &list); err != nil {
		return nil, err
	}
	for i := range list.Items {
		s := &list.Items[i]
		m := Sets{}.NewMachine(s, s.Name).(*machinev1.Machine)
		out = append(out, dialect.Template[*machinev1.Machine]{Anchor: s, Machine: m})
	}
	return out, nil
}

// Class takes the provider spec from the machine, completes it by the defaults of its cluster, and reads the
// secrets that it names, in the machine's namespace by default.
func (d Resolver) Class(ctx context.Context, m *machinev1.Machine) (dialect.Class, error) {
	c := dialect.Class{
		Class:         provider.Class{API: provider.OpenShift, Cluster: m.Labels[ClusterLabel], Zone: m.Labels[ZoneLabel], Region: m.Labels[RegionLabel]},
		SpecPath:      "spec.providerSpec.value",
		Role:          m.Labels[RoleLabel],
		TokenLifetime: d.TokenLifetime,
		TokenGroups:   d.TokenGroups,
	}
	dialect.Locate(&c.Class, m, kept(m), recorded(m))
	c.Cluster = cmp.Or(c.Cluster, d.DefaultCluster)
	if m.Spec.ProviderSpec.Value == nil || len(m.Spec.ProviderSpec.Value.Raw) == 0 {
		return c, provider.InvalidField("spec.providerSpec.value", "value field must be set")
	}
	var incomplete error
	c.Spec, c.Inherited, incomplete = d.completed(ctx, m)
	c.Fallbacks = dialect.Fallbacks(m, d.set(ctx, m))
	names, err := dialect.ReadSpec(d.Provider, provider.OpenShift, c.Spec)
	if err != nil {
		return c, cmp.Or(incomplete, c.Objection(err))
	}
	c.UserData, c.UserDataErr = userDataOf(ctx, d.Reader, m.Namespace, names.UserData)
	credentials := names.Credentials
	if credentials.Name == "" {
		return c, incomplete
	}
	if credentials.Namespace == "" {
		credentials.Namespace = m.Namespace
	}
	c.Credentials, err = dialect.Secret(ctx, d.Reader, credentials, "spec.providerSpec.value.credentialsSecret.name")
	return c, cmp.Or(incomplete, err)
}

// set returns the set of m; one without a name if none exists, or if it cannot be read now.
func (d Resolver) set(ctx context.Context, m *machinev1.Machine) *machinev1.MachineSet {
	set := &machinev1.MachineSet{}
	owner := metav1.GetControllerOf(m)
	if owner == nil || owner.Kind != "MachineSet" || d.Reader.Get(ctx, client.ObjectKey{Namespace: m.Namespace, Name: owner.Name}, set) != nil {
		return &machinev1.MachineSet{}
	}
	return set
}

func userDataOf(ctx context.Context, r client.Reader, namespace string, ref provider.SecretRef) ([]byte, error) {
	if ref.Name == "" {
		return nil, nil
	}
	if ref.Namespace == "" {
		ref.Namespace = namespace
	}
	const field = "spec.providerSpec.value.userDataSecret.name"
	data, err := dialect.Secret(ctx, r, ref, field)
	if err != nil {
		return nil, err
	}
	if _, ok := data["userData"]; !ok {
		return nil, fmt.Errorf("%s: secret %s/%s has no key userData", field, ref.Namespace, ref.Name)
	}
	return data["userData"], nil
}

// clusterWait limits how long listing clusters may take: a cache without the permission to list them would
// wait for ever, and every worker with it.
const clusterWait = 3 * time.Second

// completed returns the provider spec of m completed by the defaults of its cluster, and the part of those
// that m does not store yet; if they cannot be found out, the machine's own spec, with the reason.
//
// A machine without stored defaults was created without any, so a machine with an instance gets none. Until
// then the clusters that are older than the machine count. If there are any, their defaults are stored before
// an instance is requested, even if they are empty; if none exist, there never will be. So no later
// change of clusters causes a second instance, not even between a call whose reply was lost and the next.
// Creation times are in seconds: a cluster of the same second counts as older, because it may come from the
// same file.
func (d Resolver) completed(ctx context.Context, m *machinev1.Machine) (spec, inherited []byte, err error) {
	own := m.Spec.ProviderSpec.Value.Raw
	if kept, ok := millwright.Read(m.Annotations).Text(DefaultsAnnotation); ok {
		spec, _, err = beneath(own, []byte(kept))
		if err != nil {
			return own, nil, fmt.Errorf("metadata.annotations[%s]: %w", DefaultsAnnotation, err)
		}
		return spec, nil, nil
	}
	if provisioned(m) {
		return own, nil, nil
	}
	clusters, err := d.clustersBefore(ctx, m)
	if err != nil || len(clusters) == 0 {
		return own, nil, err
	}
	c := clusterOf(m, clusters)
	if c == nil || c.Spec.ProviderSpec.Value == nil {
		return own, []byte(nothing), nil
	}
	spec, inherited, err = beneath(own, c.Spec.ProviderSpec.Value.Raw)
	if err != nil {
		return own, nil, fmt.Errorf("spec.providerSpec.value: complete it by cluster %s: its spec.providerSpec.value %w", c.Name, err)
	}
	return spec, inherited, nil
}

// clustersBefore returns the clusters of m's namespace that are not younger than m. A server without the kind
// has none. A machine that is not stored is younger than all.
func (d Resolver) clustersBefore(ctx context.Context, m *machinev1.Machine) ([]v1beta1.Cluster, error) {
	if d.Clusters == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, clusterWait)
	defer cancel()
	var list v1beta1.ClusterList
	err := d.Clusters.List(ctx, &list, client.InNamespace(m.Namespace))
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("spec.providerSpec.value: list the clusters whose defaults it may have: %w", err)
	}
	return slices.DeleteFunc(list.Items, func(c v1beta1.Cluster) bool {
		return !m.CreationTimestamp.IsZero() && c.CreationTimestamp.After(m.CreationTimestamp.Time)
	}), nil
}
