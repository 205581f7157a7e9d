package cloud

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"google.golang.org/api/compute/v1"

	"github.com/millwright-dev/millwright/provider"
)

// missing finds the labels and network tags that live instances lack. A maintainer restores them.
type (
	missing    struct{ *scope }
	maintainer struct{ *call }
)

// Unkept implements [provider.Maintainer]. Instances do not show their load balancers.
func (s *session) Unkept(ref provider.Ref, i provider.Instance) bool {
	return !s.bare && (missing{s.scope}.lacks(ref, i) || loadBalancers{s.call}.concerns(i))
}

// Maintain implements [provider.Maintainer]. A failed repair does not stop the others.
func (s *session) Maintain(ctx context.Context, ref provider.Ref, i provider.Instance) error {
	if s.bare {
		return nil
	}
	var err error
	if (missing{s.scope}).lacks(ref, i) {
		err = maintainer{s.call}.restoreLabels(ctx, ref, i)
	}
	return first(errors.Join(err, loadBalancers{s.call}.register(ctx, i)))
}

// lacks reports whether an instance lacks a label or a network tag.
func (k missing) lacks(ref provider.Ref, i provider.Instance) bool {
	return len(k.labels(ref, i)) > 0 || len(k.tags(i)) > 0
}

// labels are the labels to write to ref's instance: missing labels of the owner and of the whole cluster, and
// missing or changed ones of the spec. An instance with another machine's UID gets none.
func (k missing) labels(ref provider.Ref, i provider.Instance) map[string]string {
	out := map[string]string{}
	users := k.plan.labels()
	for key, value := range k.labelled(users, k.due(ref, i)) {
		is, ok := i.Tags[key]
		_, spec := users[key]
		if !ok || spec && is != value && key != k.clusterLabel() && !slices.Contains(ourLabels, key) {
			out[key] = value
		}
	}
	return out
}

// due is the identity of ref's instance, which the original may have created.
func (k missing) due(ref provider.Ref, i provider.Instance) map[string]string {
	if i.UID != "" && i.UID != ref.UID {
		return nil
	}
	due := k.identity(ref)
	if i.NodeName != ref.Name {
		due[nameLabel] = ref.Name
	}
	if k.controlPlane(i) {
		due[roleLabel] = controlPlaneRole
	}
	return due
}

// tagMark is the prefix of network tags in [provider.Instance].Tags, which also has labels: no label has a
// slash.
const tagMark = "tags/"

// marks are the labels and the network tags of an instance.
func marks(i *compute.Instance) map[string]string {
	all := maps.Clone(i.Labels)
	if all == nil {
		all = map[string]string{}
	}
	if i.Tags != nil {
		for _, t := range i.Tags.Items {
			all[tagMark+t] = ""
		}
	}
	return all
}

func tagged(i provider.Instance, tag string) bool {
	_, ok := i.Tags[tagMark+tag]
	return ok
}

// networkTags are those of the spec and, if a spec of Gardener does not record the owner, that of the
// cluster.
func (s *scope) networkTags() []string {
	tags := s.plan.tags()
	cluster, _ := s.ownTags()
	says := func(t string) bool { return strings.Contains(t, clusterPrefix) }
	if s.plan.gardener == nil || cluster != "" || !nameForm.MatchString(s.clusterLabel()) || slices.ContainsFunc(tags, says) {
		return tags
	}
	return append(slices.Clone(tags), s.clusterLabel())
}

// tags are the network tags that an instance lacks.
func (k missing) tags(i provider.Instance) (lacks []string) {
	for _, t := range k.networkTags() {
		if !tagged(i, t) {
			lacks = append(lacks, t)
		}
	}
	return lacks
}

// restoreLabels writes what the instance lacks now. It overwrites no concurrent change.
func (m maintainer) restoreLabels(ctx context.Context, ref provider.Ref, i provider.Instance) error {
	is, err := m.client.compute.Instances.Get(m.project, i.Zone, i.NodeName).Context(ctx).Do()
	if err != nil {
		return m.missing(ctx, err, i.NodeName)
	}
	now, k := m.toInstance(is), missing{m.scope}
	if now.ID != i.ID {
		return provider.Errorf(provider.Conflict, "there is no instance %s any more", i.ID)
	}
	return errors.Join(m.label(ctx, is, k.labels(ref, now)), m.tag(ctx, is, k.tags(now)))
}

func (m maintainer) label(ctx context.Context, i *compute.Instance, owed map[string]string) error {
	if len(owed) == 0 {
		return nil
	}
	labels := maps.Clone(owed)
	for key, value := range i.Labels {
		if _, ok := owed[key]; !ok {
			labels[key] = value
		}
	}
	_, err := m.client.compute.Instances.SetLabels(m.project, tail(i.Zone), i.Name, &compute.InstancesSetLabelsRequest{
		Labels: labels, LabelFingerprint: i.LabelFingerprint,
	}).Context(ctx).Do()
	return m.observe(ctx, err, "label instance %s", i.Name)
}

func (m maintainer) tag(ctx context.Context, i *compute.Instance, lacks []string) error {
	if len(lacks) == 0 {
		return nil
	}
	tags := &compute.Tags{Items: lacks}
	if i.Tags != nil {
		tags.Items, tags.Fingerprint = slices.Concat(i.Tags.Items, lacks), i.Tags.Fingerprint
	}
	_, err := m.client.compute.Instances.SetTags(m.project, tail(i.Zone), i.Name, tags).Context(ctx).Do()
	return m.observe(ctx, err, "give instance %s its network tags", i.Name)
}
