package cloud

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/millwright-dev/millwright/provider"
)

// Unkept implements [provider.Maintainer].
func (s *session) Unkept(ref provider.Ref, i provider.Instance) bool {
	return s.plan != nil && (ownership{s}.unmarked(ref, i) || ownership{s}.untagged(i.ID))
}

// unmarked reports whether an instance lacks marks. An unknown owner is not added later.
func (s ownership) unmarked(ref provider.Ref, i provider.Instance) bool {
	_, hasNamespace := s.attachmentAlone(ref)
	return i.UID == "" && ref.UID != "" || i.Namespace == "" && hasNamespace
}

// untagged reports whether this process has not yet attached the spec's tags to an instance: listings do not
// show tags.
func (s ownership) untagged(id string) bool {
	_, done := s.provider.tagged.Recall(s.tagsKey(id))
	return len(s.plan.tags) > 0 && !done
}

func (s ownership) tagsKey(id string) string { return id + " " + strings.Join(s.plan.tags, ",") }

// Maintain implements [provider.Maintainer]: it restores the marks, which an instance of the original gets
// in this way, and attaches tags. After a final refusal it tries again only after a while. The credentials are
// valid for the rest: the client stays.
func (s *session) Maintain(ctx context.Context, ref provider.Ref, i provider.Instance) error {
	if s.plan == nil || !uidForm.MatchString(ref.UID) {
		return nil
	}
	c, err := s.on(ctx)
	if err != nil {
		return err
	}
	return errors.Join(
		c.refusals.Try(ctx, "marks of "+i.ID, func(ctx context.Context) error { return ownership{s}.mark(ctx, c, ref, i) }),
		c.refusals.Try(ctx, "tags of "+ownership{s}.tagsKey(i.ID), func(ctx context.Context) error { return ownership{s}.tag(ctx, c, i) }),
	)
}

// mark gives the parts of an instance the names that identify its machine.
func (s ownership) mark(ctx context.Context, c *client, ref provider.Ref, i provider.Instance) error {
	if !s.unmarked(ref, i) {
		return nil
	}
	now, err := finder(s).one(ctx, c, i.ID)
	if err != nil || now == nil || now.Primary == nil {
		return err
	}
	m, at := marksOf(now), "/instances/"+url.PathEscape(i.ID)
	if m.uid != "" && m.uid != ref.UID {
		return nil // another machine's
	}
	attachment, _ := s.attachmentAlone(ref)
	for _, part := range []struct{ path, has, want string }{
		{"/volume_attachments/" + url.PathEscape(now.Boot.ID), now.Boot.Name, attachment},
		{"/network_interfaces/" + url.PathEscape(now.Primary.ID), now.Primary.Name, s.interfaceName(ref)},
	} {
		if part.has == part.want || strings.HasPrefix(part.path, "/volume_attachments/") && attachmentForm.MatchString(part.has) {
			continue
		}
		patch := c.vpc(http.MethodPatch, at+part.path)
		patch.body = reference{Name: part.want}
		if err := c.call(ctx, patch, nil); err != nil {
			return classify("name a part of "+i.ID, err)
		}
	}
	return nil
}

// tag attaches the tags of the spec. Attaching a tag twice has no effect.
func (s ownership) tag(ctx context.Context, c *client, i provider.Instance) error {
	if !s.untagged(i.ID) {
		return nil
	}
	now, err := finder(s).one(ctx, c, i.ID)
	if err != nil || now == nil {
		return err
	}
	type resource struct {
		ID string `json:"resource_id"`
	}
	body := struct {
		Resources []resource `json:"resources"`
		Names     []string   `json:"tag_names"`
	}{[]resource{{now.CRN}}, s.plan.tags}
	var out struct {
		Results []struct {
			Failed bool   `json:"is_error"`
			Text   string `json:"message"`
		} `json:"results"`
	}
	post := request{method: http.MethodPost, url: c.endpoints.tagging + "/v3/tags/attach", query: url.Values{"tag_type": {"user"}}, body: body}
	if err := c.call(ctx, post, &out); err != nil {
		return classify("attach the tags of the spec to "+i.ID, err)
	}
	for _, r := range out.Results {
		if r.Failed {
			return provider.Errorf(provider.Transient, "attach the tags of the spec to %s: %s", i.ID, provider.Clip(r.Text, 500))
		}
	}
	s.provider.tagged.Put(s.tagsKey(i.ID), struct{}{})
	return nil
}
