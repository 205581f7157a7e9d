package cloud

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/millwright-dev/millwright/provider"
)

// Unkept implements [provider.Maintainer].
func (s *session) Unkept(ref provider.Ref, i provider.Instance) bool {
	if s.plan == nil {
		return false
	}
	marks, categories := ownership{s}.missing(ref, i)
	return len(marks)+len(categories) > 0
}

// missing are the missing marks, and the missing categories of the spec and of the cluster. The recorded
// owner, namespace and role are never changed.
func (s ownership) missing(ref provider.Ref, i provider.Instance) (marks, categories map[string]string) {
	marks, categories = s.identity(ref, i.ID, ""), map[string]string{s.clusterKey(): owned}
	for _, wanted := range s.plan.Categories {
		categories[wanted.Key] = wanted.Value
	}
	maps.DeleteFunc(marks, func(key, _ string) bool { return i.Tags[key] != "" })
	maps.DeleteFunc(categories, func(key, value string) bool {
		_, unknown := s.provider.unknown.Recall(s.categoryKey(key, value))
		return unknown || i.Tags[key] == value
	})
	return marks, categories
}

func (s ownership) categoryKey(key, value string) string { return fmt.Sprint(s.key(), key, value) }

// Maintain implements [provider.Maintainer]: it restores marks and categories. A category that does not exist
// is left out for a while. After a final refusal it tries again only after a while.
func (s *session) Maintain(ctx context.Context, ref provider.Ref, i provider.Instance) error {
	if s.plan == nil {
		return nil
	}
	c, err := s.client(ctx)
	if err != nil {
		return err
	}
	marks, categories := ownership{s}.missing(ref, i)
	for _, key := range slices.Sorted(maps.Keys(categories)) {
		exists, err := lookup{s}.hasCategory(ctx, c, key, categories[key])
		if err != nil {
			return err
		}
		if !exists {
			s.provider.unknown.Put(ownership{s}.categoryKey(key, categories[key]), struct{}{})
			delete(categories, key)
		}
	}
	if len(marks)+len(categories) == 0 {
		return nil
	}
	// After a refusal the credentials are valid for the rest: the client stays.
	return c.refusals.Try(ctx, i.ID+fmt.Sprint(marks, categories), func(ctx context.Context) error {
		return s.change(ctx, c, i.ID, "write the marks of "+i.ID, func(d *document) bool {
			d.mark(i.ID, marks)
			d.categorize(categories)
			return true
		})
	})
}

// document is a virtual machine with all its fields: a change has to repeat them.
type document struct {
	Spec     map[string]any `json:"spec"`
	Metadata map[string]any `json:"metadata"`
}

// written are the fields of the metadata that clients may write.
var written = []string{"kind", "uuid", "project_reference", "owner_reference", "spec_version", "categories", "categories_mapping", "use_categories_mapping"}

// change changes a virtual machine, if do reports a difference. Prism Central refuses the change if another one
// came before it. A refusal does not drop the client.
func (s *session) change(ctx context.Context, c *client, uuid, doing string, do func(*document) bool) error {
	var d document
	err := c.call(ctx, http.MethodGet, "/vms/"+uuid, nil, &d)
	if missing(err) {
		return provider.Errorf(provider.Conflict, "virtual machine %s does not exist", uuid)
	}
	if err == nil && (d.Spec == nil || d.Metadata == nil) {
		err = provider.Errorf(provider.Transient, "the answer has no spec")
	}
	if err != nil {
		return classify(doing, err)
	}
	if !do(&d) {
		return nil
	}
	maps.DeleteFunc(d.Metadata, func(key string, _ any) bool { return !slices.Contains(written, key) })
	return classify(doing, c.call(ctx, http.MethodPut, "/vms/"+uuid, d, nil))
}

// mark adds marks to the description. Marks of another virtual machine are removed.
func (d *document) mark(uuid string, marks map[string]string) {
	v := &vm{}
	v.Metadata.UUID = uuid
	v.Spec.Description, _ = d.Spec["description"].(string)
	all := marksOf(v)
	for key, value := range marks {
		if all[key] == "" {
			all[key] = value
		}
	}
	d.Spec["description"] = described(v.Spec.Description, all)
}

// categorize adds categories. A version of Prism Central with several values of a category has them in a second
// field, which then counts.
func (d *document) categorize(categories map[string]string) {
	if len(categories) == 0 {
		return
	}
	mapping, several := d.Metadata["categories_mapping"].(map[string]any)
	if several {
		d.Metadata["use_categories_mapping"] = true
	}
	single, ok := d.Metadata["categories"].(map[string]any)
	if !ok {
		single = map[string]any{}
		d.Metadata["categories"] = single
	}
	for key, value := range categories {
		single[key] = value
		if several {
			mapping[key] = []any{value}
		}
	}
}
