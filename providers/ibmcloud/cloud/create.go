package cloud

import (
	"context"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/millwright-dev/millwright/provider"
)

// readLag is how long the original waits before it reads a new instance again. IBM Cloud documents no delay
// of listings.
const readLag = 20 * time.Second

// Create implements [provider.Session].
func (s *session) Create(ctx context.Context, ref provider.Ref, want provider.Want) (none provider.Instance, err error) {
	if s.plan == nil {
		return none, provider.Errorf(provider.Invalid, "the class has no spec to create an instance from")
	}
	if err := s.plan.accepts(want.Choice); err != nil {
		return none, err
	}
	if !uidForm.MatchString(ref.UID) {
		return none, provider.Errorf(provider.Invalid, "the machine's UID %q has not the form of a UID", provider.Clip(ref.UID, mostName))
	}
	if !utf8.Valid(want.UserData) {
		return none, provider.InvalidField("userDataSecret", "the user data is no UTF-8 text, as VPC requires")
	}
	c, err := s.on(ctx)
	if err != nil {
		return none, err
	}
	v, err := finder{s}.find(ctx, c, ref)
	if err != nil {
		return none, err
	}
	if existing := provider.Existing(v.instances); len(existing) > 0 {
		return existing[0], nil
	}
	return creator{s}.create(ctx, c, ref, want, v.used)
}

func (s creator) create(ctx context.Context, c *client, ref provider.Ref, want provider.Want, used map[string]bool) (none provider.Instance, err error) {
	body, err := s.prototype(ctx, c, ref, want, used)
	if err != nil {
		return none, err
	}
	post := c.vpc(http.MethodPost, "/instances")
	post.body = body
	var i instance
	err = c.call(ctx, post, &i)
	if a, ok := answerOf(err); ok {
		return s.refused(ctx, c, ref, a)
	}
	switch {
	case err != nil:
		return none, s.observe("create an instance", err)
	case i.ID == "":
		return none, provider.Errorf(provider.Transient, "VPC created an instance, and its answer does not name the instance")
	}
	return finder(s).toInstance(ctx, c, &i)
}

// prototype is the request for ref's instance.
func (s creator) prototype(ctx context.Context, c *client, ref provider.Ref, want provider.Want, used map[string]bool) (*prototype, error) {
	name, err := ownership(s).instanceName(ref, used)
	if err != nil {
		return nil, err
	}
	r, err := lookup{c}.all(ctx, s.plan)
	if err != nil {
		return nil, s.observe("look for the resources of the spec", err)
	}
	attachment, rest := ownership(s).attachmentName(ref)
	p := &prototype{
		Name: name, Zone: reference{Name: s.plan.Zone}, VPC: reference{ID: r.vpc}, Image: reference{ID: r.image}, Profile: reference{Name: s.plan.Profile},
		ResourceGroup: reference{ID: r.group}, UserData: string(want.UserData),
		Primary: interfacePrototype{Name: ownership(s).interfaceName(ref), Subnet: reference{ID: r.subnet}, SecurityGroups: r.securityGroups},
		Boot:    bootPrototype{Name: attachment, Delete: true, Volume: s.plan.volume(ownership(s).volumeName(ref, rest))},
	}
	if r.host != "" {
		p.PlacementTarget = &reference{ID: r.host}
	}
	return p, nil
}

// refused reads the refusal of a creation. If a name is in use, an earlier request may have created the
// instance: then the region is searched again. If it shows no instance of the machine, either that is not
// visible yet, or another instance or volume has the name: the next call sees it, and uses another name.
func (s creator) refused(ctx context.Context, c *client, ref provider.Ref, a *answer) (none provider.Instance, err error) {
	err = s.observe("create an instance", a)
	switch {
	case a.status == http.StatusNotFound: // a resource of the spec was deleted after it was found
		c.resolved.ForgetAll()
		return none, provider.Errorf(provider.Transient, "%w; the resources of the spec are searched again", err)
	case provider.KindOf(err) != provider.Conflict:
		return none, err
	}
	v, failed := finder(s).find(ctx, c, ref)
	if failed != nil {
		return none, failed
	}
	if existing := provider.Existing(v.instances); len(existing) > 0 {
		return existing[0], nil
	}
	return none, err
}
