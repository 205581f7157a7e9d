package kubemark

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/kubemark/internal/cloud"
)

// session implements [provider.Session] and, in capability.go, the optional interfaces of sessions.
type session struct {
	provider *Provider
	class    provider.Class
	spec     Spec
	// capacity is the capacity of nodes. With a capacityErr, the class's capacity is invalid; existing
	// instances are found and deleted nevertheless.
	capacity    capacity
	capacityErr error
	// bare: the class has no spec any more; the session only finds and deletes.
	bare bool
}

var _ provider.Session = &session{}

// call starts every call: it checks the rate limit and the credentials.
func (s *session) call(ctx context.Context) error {
	if err := s.admitted(ctx); err != nil {
		return err
	}
	return s.provider.throttle(s.class.Cluster, s.spec.CallsPerSecond)
}

// admitted checks the credentials.
func (s *session) admitted(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	password, err := s.provider.store.Password()
	if err != nil {
		return err
	}
	if password != "" && string(s.class.Credentials["password"]) != password {
		return provider.Errorf(provider.Denied, "the credentials do not have the infrastructure's password")
	}
	return nil
}

// identify reads the scheme in any case and with any number of slashes.
func identify(providerID string) string {
	rest, ok := strings.CutPrefix(strings.ToLower(providerID), cloud.Scheme)
	if !ok {
		return ""
	}
	return strings.TrimLeft(rest, "/")
}

// nodes are the node names that dependants of ref may have claimed.
func (s *session) nodes(ref provider.Ref) []string {
	names := []string{ref.Name}
	if recorded := identify(ref.ProviderID); recorded != "" && recorded != ref.Name {
		names = append(names, recorded)
	}
	return names
}

func (s *session) Find(ctx context.Context, ref provider.Ref) ([]provider.Instance, error) {
	if err := s.call(ctx); err != nil {
		return nil, err
	}
	seen, err := s.provider.cloud.Find(ctx, s.class.Cluster, cloud.Query{
		UID: ref.UID, Name: ref.Name, Recorded: identify(ref.ProviderID),
	})
	if err != nil {
		return nil, fmt.Errorf("find instances of %s: %w", ref.Name, err)
	}
	var out []provider.Instance
	for _, i := range seen {
		if visible(s, i) {
			out = append(out, toInstance(i))
		}
	}
	return out, nil
}

// visible hides instances from s that are younger than the read lag.
func visible(s *session, i cloud.Instance) bool {
	lag := duration(s.spec.ReadLag, 0)
	return lag == 0 || !s.provider.config.Clock.Now().Before(i.Created.Add(lag))
}

// maxNodeName is the maximum length of a label value, because a label has the node's name.
const maxNodeName = 63

func checkName(name string) error {
	if len(name) > maxNodeName {
		return provider.InvalidField("metadata.name", "%q has %d characters; a node name may have at most %d", name, len(name), maxNodeName)
	}
	if why := validation.IsDNS1123Subdomain(name); len(why) > 0 {
		return provider.InvalidField("metadata.name", "%q cannot be a node name: %s", name, strings.Join(why, "; "))
	}
	return nil
}

func (s *session) Create(ctx context.Context, ref provider.Ref, want provider.Want) (provider.Instance, error) {
	if err := s.call(ctx); err != nil {
		return provider.Instance{}, err
	}
	if s.bare {
		return provider.Instance{}, provider.Errorf(provider.Invalid, "the class has no spec to create an instance of %s from", ref.Name)
	}
	if err := checkName(ref.Name); err != nil {
		return provider.Instance{}, err
	}
	spec, err := s.spec.choose(want.Choice)
	if err := cmp.Or(err, s.capacityErr); err != nil {
		return provider.Instance{}, err
	}
	made, err := s.provider.cloud.Create(ctx, cloud.CreateRequest{
		Record: cloud.Record{
			ID:      cloud.InstanceID(ref.Token(s.class.Cluster)),
			Cluster: s.class.Cluster,
			UID:     ref.UID,
			Name:    ref.Name,
			Node:    ref.Name,
			Owner:   s.class.Owner, Namespace: ref.Namespace,
			Traits: s.traits(spec),
			Tags:   s.createTags(ref, want),
		},
		UserData:    want.UserData,
		Recorded:    identify(ref.ProviderID),
		FailureRate: s.spec.CreateFailureRate,
		Quota:       ptr.Deref(s.spec.Quota, -1),
	})
	if err != nil {
		return provider.Instance{}, fmt.Errorf("create an instance of %s: %w", ref.Name, err)
	}
	return toInstance(made), nil
}

// traits are the traits in the spec; hollow nodes have the address of their host.
func (s *session) traits(spec Spec) cloud.Traits {
	t := spec.traits(s.capacity)
	if t.Backend == Hollow {
		t.Address = s.provider.config.NodeIP
	}
	return t
}

func (s *session) Delete(ctx context.Context, ref provider.Ref, instances []provider.Instance) (bool, error) {
	if err := s.call(ctx); err != nil {
		return false, err
	}
	r := cloud.DeleteRequest{
		Cluster:     s.class.Cluster,
		UID:         ref.UID,
		FailureRate: s.spec.DeleteFailureRate,
	}
	for _, i := range instances {
		r.Instances = append(r.Instances, given(i))
	}
	if ref.UID != "" {
		r.Nodes = s.nodes(ref)
		r.Tokens = []string{ref.Token(s.class.Cluster)}
	}
	done, err := s.provider.cloud.Delete(ctx, r)
	if err != nil {
		return false, fmt.Errorf("delete the instances of %s: %w", ref.Name, err)
	}
	return done, nil
}

func (s *session) List(ctx context.Context) iter.Seq2[provider.Instance, error] {
	return func(yield func(provider.Instance, error) bool) {
		if err := s.call(ctx); err != nil {
			yield(provider.Instance{}, err)
			return
		}
		for i, err := range s.provider.cloud.List(ctx, s.class.Cluster, s.provider.config.PageSize) {
			if err != nil {
				yield(provider.Instance{}, fmt.Errorf("list instances: %w", err))
				return
			}
			if visible(s, i) && !yield(toInstance(i), nil) {
				return
			}
		}
	}
}

// powers maps the power operations to those of the cloud.
var powers = map[provider.PowerOp]cloud.Power{
	provider.PowerOn:  cloud.PowerOn,
	provider.PowerOff: cloud.PowerOff,
	provider.Reboot:   cloud.PowerReboot,
}

// gone is the error about a deleted instance.
func gone(i provider.Instance) error {
	return provider.Errorf(provider.Conflict, "instance %s does not exist", i.ID)
}
