package cloud

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/mo"

	"github.com/millwright-dev/millwright/provider"
)

// tagger writes the tags and custom attributes that record the owner of virtual machines for other tools,
// and reads them.
type tagger struct{ *session }

// tagging reads the tags of virtual machines.
type tagging func(ctx context.Context, c *conn, of []*vm) error

// clusterTag is the ID of the tag that OpenShift's installer has created for the cluster: it has the
// cluster's name, in a category of its own. It is empty if an administrator has created the cluster's
// virtual machines without a tag.
func (s tagger) clusterTag(ctx context.Context, c *conn) (string, error) {
	if s.class.API != provider.OpenShift {
		return "", nil
	}
	return remember(ctx, c.memo, "cluster tag "+s.class.Cluster, func() (id string, err error) {
		err = c.tags(ctx, func(m *tags.Manager) error {
			category, err := categoryCalled(ctx, m, "openshift-"+s.class.Cluster)
			if err != nil || category == "" {
				return err
			}
			id, err = tagCalled(ctx, m, category, s.class.Cluster)
			return err
		})
		return id, err
	})
}

// categoryCalled and tagCalled return IDs, or nothing. An object that is deleted meanwhile does not count.
func categoryCalled(ctx context.Context, m *tags.Manager, name string) (string, error) {
	ids, err := m.ListCategories(ctx)
	if err != nil {
		return "", err
	}
	for _, id := range ids {
		category, err := m.GetCategory(ctx, id)
		if err != nil && !answered(err, http.StatusNotFound) {
			return "", err
		}
		if err == nil && category.Name == name {
			return id, nil
		}
	}
	return "", nil
}

func tagCalled(ctx context.Context, m *tags.Manager, category, name string) (string, error) {
	ids, err := m.ListTagsForCategory(ctx, category)
	if err != nil {
		return "", err
	}
	for _, id := range ids {
		tag, err := m.GetTag(ctx, id)
		if err != nil && !answered(err, http.StatusNotFound) {
			return "", err
		}
		if err == nil && tag.Name == name {
			return id, nil
		}
	}
	return "", nil
}

// wantedTags are the IDs of the tags that a virtual machine should have.
func (s tagger) wantedTags(ctx context.Context, c *conn) ([]string, error) {
	id, err := s.clusterTag(ctx, c)
	if err != nil {
		return nil, err
	}
	var all []string
	if id != "" {
		all = append(all, id)
	}
	if s.plan != nil {
		all = append(all, s.plan.tags...)
	}
	return all, nil
}

// tagsOf reads the tags of a few virtual machines; [tagger.tagged] reads those of all.
func (s tagger) tagsOf(ctx context.Context, c *conn, of []*vm) error {
	wanted, err := s.wantedTags(ctx, c)
	if err != nil || len(wanted) == 0 || len(of) == 0 {
		return err
	}
	byRef, refs := map[string]*vm{}, []mo.Reference{}
	for _, v := range of {
		byRef[v.ref.Value] = v
		refs = append(refs, v.ref)
	}
	return c.tags(ctx, func(m *tags.Manager) error {
		all, err := m.ListAttachedTagsOnObjects(ctx, refs)
		for _, a := range all {
			if v := byRef[a.ObjectID.Reference().Value]; v != nil {
				v.tags = a.TagIDs
			}
		}
		return err
	})
}

// readTags reads tags. A failure of the service is an error if a tag decides the owner of one of the virtual
// machines; otherwise the tags are unknown: a vCenter can run without its tagging service for long, and
// machines are created and deleted meanwhile.
func (s tagger) readTags(ctx context.Context, c *conn, of []*vm, r *provider.Ref, tagged tagging) error {
	patient, cancel := context.WithTimeout(ctx, tagPatience)
	defer cancel()
	err := tagged(patient, c, of)
	if err == nil || ctx.Err() != nil || slices.ContainsFunc(of, func(v *vm) bool { return s.doubtful(v, r) }) {
		return err
	}
	for _, v := range of {
		v.tags, v.tagsUnknown = nil, true
	}
	return nil
}

// tagPatience is the time limit for the tagging service, which may be down and not answer.
const tagPatience = 10 * time.Second

// doubtful reports whether only a tag can prove the owner of a virtual machine.
func (s tagger) doubtful(v *vm, r *provider.Ref) bool {
	return s.class.API == provider.OpenShift && v.extra[keyCluster] == "" && (r == nil || !bears(s.session, v, *r))
}

// tagged reads once which virtual machines have the relevant tags.
func (s tagger) tagged(ctx context.Context, c *conn) tagging {
	has := map[string][]string{}
	wanted, err := s.wantedTags(ctx, c)
	if err == nil && len(wanted) > 0 {
		err = attached(ctx, c, wanted, has)
	}
	return func(_ context.Context, _ *conn, of []*vm) error {
		for _, v := range of {
			v.tags = has[v.ref.Value]
		}
		return err
	}
}

// attached adds the wanted tags that objects have.
func attached(ctx context.Context, c *conn, wanted []string, has map[string][]string) error {
	return c.tags(ctx, func(m *tags.Manager) error {
		all, err := m.ListAttachedObjectsOnTags(ctx, wanted)
		for _, a := range all {
			for _, o := range a.ObjectIDs {
				has[o.Reference().Value] = append(has[o.Reference().Value], a.TagID)
			}
		}
		return err
	})
}

// fieldsOf are the names of custom attributes by their keys. They are read again if a virtual machine has
// an unknown key: an attribute with an unknown name must not be ignored.
func fieldsOf(ctx context.Context, c *conn, all []*vm) (map[int32]string, error) {
	names, err := fields(ctx, c)
	if err != nil {
		return nil, err
	}
	for _, v := range all {
		for key := range v.attributes {
			if _, ok := names[key]; !ok {
				c.memo.Forget(fieldsKey)
				return fields(ctx, c)
			}
		}
	}
	return names, nil
}

const fieldsKey = "custom attributes"

func fields(ctx context.Context, c *conn) (map[int32]string, error) {
	return remember(ctx, c.memo, fieldsKey, func() (map[int32]string, error) {
		m, err := object.GetCustomFieldsManager(c.vim)
		if err != nil {
			return nil, err
		}
		defs, err := m.Field(ctx)
		if err != nil {
			return nil, err
		}
		names := map[int32]string{}
		for _, d := range defs {
			if d.ManagedObjectType == "" || d.ManagedObjectType == "VirtualMachine" {
				names[d.Key] = d.Name
			}
		}
		return names, nil
	})
}

// named are custom attributes by their names.
func (v *vm) named(names map[int32]string) map[string]string {
	all := map[string]string{}
	for key, value := range v.attributes {
		if name := names[key]; name != "" {
			all[name] = value
		}
	}
	return all
}

// inScope reports whether a virtual machine is the cluster's. This provider writes the cluster into the
// options; without it, the UUID of the requested machine counts, the cluster's tag, or custom attributes.
func (s tagger) inScope(v *vm, attributes map[string]string, clusterTag string, r *provider.Ref) bool {
	if cluster := v.extra[keyCluster]; cluster != "" {
		return cluster == s.class.Cluster
	}
	if r != nil && bears(s.session, v, *r) {
		return true
	}
	if s.class.API == provider.OpenShift {
		return clusterTag != "" && slices.Contains(v.tags, clusterTag)
	}
	var ownership map[string]string
	if s.plan != nil {
		ownership = s.plan.ownership
	}
	return owns(ownership, s.class.Cluster, attributes)
}

// marked reports whether a virtual machine has any of the tags or attributes that it should have.
func (s tagger) marked(v *vm, k *describeInput) bool {
	if s.class.API != provider.Gardener {
		return slices.ContainsFunc(k.wanted, func(id string) bool { return slices.Contains(v.tags, id) })
	}
	has := v.named(k.fields)
	for key, value := range s.plan.attributesFor(s.class.Cluster) {
		if said, ok := has[key]; ok && said == value {
			return true
		}
	}
	return false
}

// attach adds the missing tags of a virtual machine, in one call.
func (s tagger) attach(ctx context.Context, c *conn, v *vm, wanted []string) error {
	lacks := slices.DeleteFunc(slices.Clone(wanted), func(id string) bool { return slices.Contains(v.tags, id) })
	if len(lacks) == 0 {
		return nil
	}
	return c.tags(ctx, func(m *tags.Manager) error {
		err := m.AttachMultipleTagsToObject(ctx, lacks, v.ref)
		if answered(err, http.StatusForbidden) {
			return fmt.Errorf("attach tags to %s, which takes the privileges InventoryService.Tagging.AttachTag and .ObjectAttachable: %w", v.name, err)
		}
		batch, ok := errors.AsType[tags.BatchErrors](err)
		if !ok {
			return err
		}
		for _, e := range batch {
			for i, id := range s.plan.tags {
				if strings.Contains(e.Message, id) {
					return provider.InvalidField(fmt.Sprintf("tagIDs[%d]", i), "%s", e.Message)
				}
			}
		}
		return err
	})
}

// assign adds the missing custom attributes of a virtual machine; attributes that the vCenter does not know
// yet are defined. A failure of one does not stop the others.
func (s tagger) assign(ctx context.Context, c *conn, v *vm, k *describeInput) error {
	has, keys := v.named(k.fields), map[string]int32{}
	for key, name := range k.fields {
		keys[name] = key
	}
	var errs []error
	wanted := s.plan.attributesFor(s.class.Cluster)
	for _, name := range sorted(wanted) {
		if said, ok := has[name]; ok && said == wanted[name] {
			continue
		}
		key, ok := keys[name]
		errs = append(errs, setAttribute(ctx, c, v, attribute{name, wanted[name], key, ok}))
	}
	return errors.Join(errs...)
}

// attribute is a custom attribute with its value.
type attribute struct {
	name, value string
	key         int32
	defined     bool
}

func setAttribute(ctx context.Context, c *conn, v *vm, a attribute) error {
	m, err := object.GetCustomFieldsManager(c.vim)
	if err != nil {
		return err
	}
	if !a.defined {
		def, err := m.Add(ctx, a.name, "VirtualMachine", nil, nil)
		c.memo.Forget(fieldsKey)
		if err != nil {
			return fmt.Errorf("define the custom attribute %s: %w", a.name, err)
		}
		a.key = def.Key
	}
	if err := m.Set(ctx, v.ref, a.key, a.value); err != nil {
		return fmt.Errorf("set the custom attribute %s of %s: %w", a.name, v.name, err)
	}
	return nil
}
