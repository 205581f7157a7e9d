package providertest

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kit"
)

// Provider returns a provider for the cloud, in the state of a new process. It conforms; its spec is
// {"size": "small"|"large", "zone": "a"|"b"}.
func (c *Cloud) Provider() provider.Provider { return cloudProvider{c} }

// Class returns a valid class of the API for the cluster.
func (c *Cloud) Class(api, cluster string) provider.Class {
	c.mu.Lock()
	defer c.mu.Unlock()
	return provider.Class{
		API: api, Cluster: cluster, Spec: []byte(`{"size":"small","zone":"a"}`),
		Credentials: map[string][]byte{"password": []byte(c.secret)},
	}
}

type cloudProvider struct{ cloud *Cloud }

func (cloudProvider) Name() string { return "example" }

// cloudSpec is the provider spec, the same in both APIs.
type cloudSpec struct {
	Size string `json:"size"`
	Zone string `json:"zone,omitempty"`
	// Zones are further zones, in order, each used while those before it are exhausted.
	Zones []string `json:"zones,omitempty"`
}

// in returns the spec for one of its zones: the first, if zone is empty.
func (s cloudSpec) in(zone string) (cloudSpec, error) {
	if zone != "" && zone != s.Zone && !slices.Contains(s.Zones, zone) {
		return s, provider.Errorf(provider.Invalid, "the spec has no zone %q", zone)
	}
	s.Zone = cmpOr(zone, s.Zone)
	return s, nil
}

var cloudSizes = map[string]provider.Size{
	"small": {VCPU: 2, MemoryMiB: 4096, Architecture: "amd64"},
	"large": {VCPU: 16, MemoryMiB: 65536, Architecture: "amd64"},
}

func (cloudProvider) decode(class provider.Class) (cloudSpec, error) {
	var s cloudSpec
	if err := kit.DecodeStrict(class.Spec, &s); err != nil {
		return s, err
	}
	if _, ok := cloudSizes[s.Size]; !ok {
		return s, provider.InvalidField("size", "%q is neither small nor large", s.Size)
	}
	if s.Zone != "" && s.Zone != "a" && s.Zone != "b" {
		return s, provider.InvalidField("zone", "%q is neither a nor b", s.Zone)
	}
	for n, zone := range s.Zones {
		if zone != "a" && zone != "b" || zone == s.Zone || slices.Contains(s.Zones[:n], zone) {
			return s, provider.InvalidField(fmt.Sprintf("zones[%d]", n), "%q is neither a nor b, or given twice", zone)
		}
	}
	return s, nil
}

func (p cloudProvider) Open(_ context.Context, class provider.Class) (provider.Session, error) {
	var spec cloudSpec
	if len(class.Spec) > 0 {
		var err error
		if spec, err = p.decode(class); err != nil {
			return nil, err
		}
	}
	return &cloudSession{cloudCaller: cloudCaller{p.cloud, string(class.Credentials["password"])}, class: class, spec: spec}, nil
}

type cloudSession struct {
	cloudCaller
	class provider.Class
	spec  cloudSpec
}

// cloudCaller calls the cloud, and has the methods that need no spec.
type cloudCaller struct {
	cloud    *Cloud
	password string
}

// all reads every page of the matching instances in the class's cluster.
func (s *cloudSession) all(ctx context.Context, v Verb, match func(*vm) bool) iter.Seq2[provider.Instance, error] {
	ours := func(i *vm) bool { return i.tags[clusterTag] == s.class.Cluster && match(i) }
	return func(yield func(provider.Instance, error) bool) {
		for offset, more := 0, true; more; {
			var items []instanceView
			err := s.cloud.call(ctx, v, s.password, func() error {
				items, offset = s.cloud.page(ours, offset)
				return nil
			})
			if err != nil {
				yield(provider.Instance{}, err)
				return
			}
			for _, i := range items {
				if !yield(s.instance(i), nil) {
					return
				}
			}
			more = offset > 0
		}
	}
}

func (s *cloudSession) instance(v instanceView) provider.Instance {
	return provider.Instance{
		ID: v.id, UID: v.tags[uidTag], Name: v.name, NodeName: v.name,
		Owner: v.tags[ownerTag], Namespace: v.tags[namespaceTag],
		ProviderID: schemes[s.class.API] + v.id,
		Addresses:  []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: v.name}},
		Fault:      v.fault,
		State:      v.state, RawState: strings.ToLower(string(v.state)),
		Type: v.size, Zone: v.zone, Created: v.created, Tags: v.tags,
	}
}

// schemes are the prefixes of provider IDs. They differ between the APIs, as those of real infrastructures
// do.
var schemes = map[string]string{provider.OpenShift: "example://", provider.Gardener: "example:///"}

// identify accepts the slashes of either API, and IDs in capitals, as an old version wrote them.
func identify(providerID string) string {
	id, ok := strings.CutPrefix(strings.ToLower(providerID), "example:")
	if !ok {
		return ""
	}
	return strings.TrimLeft(id, "/")
}

func (s *cloudSession) Differences(_ provider.Ref, i provider.Instance) (out []string) {
	for _, f := range []struct{ field, has, says string }{
		{"size", i.Type, s.spec.Size},
		{"zone", i.Zone, s.spec.Zone},
	} {
		if f.has != "" && f.says != "" && f.has != f.says && (f.field != "zone" || !slices.Contains(s.spec.Zones, f.has)) {
			out = append(out, fmt.Sprintf("%s: the instance has %q, the spec says %q", f.field, f.has, f.says))
		}
	}
	return out
}

func (s *cloudSession) Find(ctx context.Context, ref provider.Ref) ([]provider.Instance, error) {
	return s.find(ctx, Find, ref)
}

func (s *cloudSession) find(ctx context.Context, v Verb, ref provider.Ref) ([]provider.Instance, error) {
	known := identify(ref.ProviderID)
	match := func(i *vm) bool {
		uid := i.tags[uidTag]
		return uid == ref.UID || i.id == known || uid == "" && i.name == ref.Name
	}
	var found []provider.Instance
	for i, err := range s.all(ctx, v, match) {
		if err != nil {
			return nil, fmt.Errorf("look for instances of %s: %w", ref.Name, err)
		}
		found = append(found, i)
	}
	return found, nil
}

func (s *cloudSession) Create(ctx context.Context, ref provider.Ref, want provider.Want) (provider.Instance, error) {
	if len(s.class.Spec) == 0 {
		return provider.Instance{}, provider.Errorf(provider.Invalid, "the class has no spec")
	}
	spec, err := s.spec.in(want.Choice)
	if err != nil {
		return provider.Instance{}, err
	}
	found, err := s.find(ctx, Find, ref)
	if err != nil {
		return provider.Instance{}, err
	}
	if there := provider.Existing(found); len(there) > 0 {
		return there[0], nil
	}
	tags := map[string]string{}
	tags[clusterTag], tags[uidTag] = s.class.Cluster, ref.UID
	tags[ownerTag], tags[namespaceTag] = s.class.Owner, ref.Namespace
	var made instanceView
	err = s.cloud.call(ctx, Create, s.password, func() error {
		made = s.cloud.view(s.cloud.run(ref.Token(s.class.Cluster), ref.Name, tags, spec), s.cloud.clock.Now())
		return nil
	})
	if err != nil {
		return provider.Instance{}, fmt.Errorf("make an instance for %s: %w", ref.Name, err)
	}
	return s.instance(made), nil
}

func (s *cloudSession) Delete(ctx context.Context, ref provider.Ref, instances []provider.Instance) (bool, error) {
	all := slices.Clone(instances)
	if ref.UID != "" {
		for i, err := range s.all(ctx, Find, func(v *vm) bool { return v.tags[uidTag] == ref.UID }) {
			if err != nil {
				return false, fmt.Errorf("look for what was made for %s: %w", ref.Name, err)
			}
			all = append(all, i)
		}
	}
	left := false
	err := s.cloud.call(ctx, Delete, s.password, func() error {
		for _, i := range all {
			s.cloud.terminate(i.ID)
			v := s.cloud.vm(i.ID)
			left = left || v != nil && s.cloud.stateOf(v) != provider.Terminated
			// Disks of an instance that shares its UID with another are in use, and must not be deleted.
			s.cloud.deleteDisks(s.class.Cluster, cmpOr(i.UID, i.ID))
		}
		left = s.cloud.deleteDisks(s.class.Cluster, ref.UID) || left
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("remove what was made for %s: %w", ref.Name, err)
	}
	return !left, nil
}

// Traits implements [provider.Session]. The nodes are hosts without a cloud controller manager.
func (s *cloudSession) Traits() provider.Traits {
	s.cloud.mu.Lock()
	defer s.cloud.mu.Unlock()
	return provider.Traits{
		Scope: provider.WholeAccount, ReadLag: s.cloud.lag, Choices: s.choices(), RebootsOnce: true, IdentifiesNodes: true, Identify: identify,
	}
}

// choices are the zones of the spec, if it has more than one.
func (s *cloudSession) choices() (out []provider.Choice) {
	if len(s.spec.Zones) == 0 {
		return nil
	}
	for _, zone := range append([]string{s.spec.Zone}, s.spec.Zones...) {
		out = append(out, provider.Choice{Name: zone, Zone: zone, Type: s.spec.Size})
	}
	return out
}

// Account authenticates with the password: invalid credentials have no account.
func (s *cloudSession) Account(ctx context.Context) (string, error) {
	if err := s.cloud.call(ctx, "account", s.password, func() error { return nil }); err != nil {
		return "", fmt.Errorf("ask for the account: %w", err)
	}
	return s.cloud.account, nil
}

func (s *cloudSession) Leftovers(ctx context.Context) iter.Seq2[provider.Leftover, error] {
	return func(yield func(provider.Leftover, error) bool) {
		var stray []disk
		err := s.cloud.call(ctx, Leftovers, s.password, func() error {
			stray = s.cloud.strayDisks(s.class.Cluster)
			return nil
		})
		if err != nil {
			yield(provider.Leftover{}, err)
			return
		}
		for _, d := range stray {
			if !yield(provider.Leftover{Kind: "disk", ID: d.id, UID: d.uid, Owner: d.owner, Namespace: d.namespace}, nil) {
				return
			}
		}
	}
}

func (s *cloudSession) List(ctx context.Context) iter.Seq2[provider.Instance, error] {
	return s.all(ctx, List, func(*vm) bool { return true })
}

func (s *cloudSession) Power(ctx context.Context, _ provider.Ref, i provider.Instance, op provider.PowerOp, request string) error {
	return s.cloud.call(ctx, Power, s.password, func() error {
		v := s.cloud.vm(i.ID)
		switch {
		case v == nil:
			return provider.Errorf(provider.Conflict, "instance %s does not exist", i.ID)
		case op != provider.Reboot:
			v.off = op == provider.PowerOff
		case v.reboot != request || request == "":
			v.reboot, v.off = request, false
		}
		return nil
	})
}

func (s *cloudSession) Initialize(ctx context.Context, _ provider.Ref, _ provider.Instance) error {
	return s.cloud.call(ctx, Initialize, s.password, func() error { return nil })
}

// Unkept checks the tag of the namespace.
func (s cloudCaller) Unkept(ref provider.Ref, i provider.Instance) bool {
	return i.UID == ref.UID && i.Namespace != ref.Namespace
}

func (s cloudCaller) Maintain(ctx context.Context, ref provider.Ref, i provider.Instance) error {
	return s.cloud.call(ctx, Maintain, s.password, func() error {
		if v := s.cloud.vm(i.ID); v != nil {
			v.tags[namespaceTag] = ref.Namespace
		}
		return nil
	})
}

func (s *cloudSession) Size(context.Context) (provider.Size, error) {
	size := cloudSizes[s.spec.Size]
	size.Labels = map[string]string{corev1.LabelInstanceTypeStable: s.spec.Size}
	size.Taints = []corev1.Taint{{Key: "example/booting", Effect: corev1.TaintEffectNoSchedule}}
	return size, nil
}

func (s *cloudSession) Status(i provider.Instance) ([]byte, error) {
	return json.Marshal(map[string]string{"instanceId": i.ID, "instanceState": i.RawState})
}
