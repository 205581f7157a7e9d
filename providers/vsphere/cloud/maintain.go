package cloud

import (
	"context"
	"errors"
	"fmt"

	"github.com/millwright-dev/millwright/provider"
)

// maintainer maintains a running virtual machine: options that record its owner, tags, custom attributes, and
// the membership of a group.
type maintainer struct{ *session }

// Unkept implements [provider.Maintainer]. An instance does not show which groups it is in.
func (s *session) Unkept(r provider.Ref, i provider.Instance) bool {
	if s.plan == nil || !(maintainer{s}).may(r, i) {
		return false
	}
	return groupOf(s, i.Tags) != "" || len(maintainer{s}.missingOptions(r, i)) > 0 || maintainer{s}.lacks(i)
}

// Maintain implements [provider.Maintainer]. A failed repair does not stop the others, and the session
// stays: a privilege that only repairs need is no reason to log in again.
func (s *session) Maintain(ctx context.Context, r provider.Ref, i provider.Instance) error {
	if s.plan == nil || !(maintainer{s}).may(r, i) {
		return nil
	}
	var refused error
	err := s.with(ctx, func(c *conn) error {
		refused = nil
		v, k, err := maintainer{s}.read(ctx, c, r, i)
		if err != nil || v == nil {
			return err
		}
		refused = maintainer{s}.restore(ctx, c, r, v, k)
		if notAuthenticated(refused) { // once more, in another session
			err, refused = refused, nil
		}
		return err
	})
	return errors.Join(err, refused)
}

// may reports whether the machine may maintain an instance. It may not if the instance has another
// machine's UID.
func (s maintainer) may(r provider.Ref, i provider.Instance) bool {
	return i.UID == "" || i.UID == r.UID
}

// missingOptions are the missing options that record the owner of an instance. They are written only if the instance
// UUID is the machine's: that is proof, a name or an attribute is not. Existing values are not changed; the
// original settings of the clone cannot be restored.
func (s maintainer) missingOptions(r provider.Ref, i provider.Instance) map[string]string {
	if !bears(s.session, &vm{instanceUUID: i.ID}, r) {
		return nil
	}
	all := creator(s).identity(r)
	delete(all, keyTemplate)
	delete(all, keyGroup)
	for key := range all {
		if i.Tags[key] != "" {
			delete(all, key)
		}
	}
	return all
}

// lacks reports whether an instance lacks a tag, or has a custom attribute that differs from the spec.
func (s maintainer) lacks(i provider.Instance) bool {
	if s.class.API == provider.Gardener {
		for name, value := range s.plan.attributesFor(s.class.Cluster) {
			if said, ok := i.Tags[name]; !ok || said != value {
				return true
			}
		}
		return false
	}
	if i.Tags[tagUnknown] != "" {
		return false
	}
	for _, id := range s.plan.tags {
		if _, ok := i.Tags[id]; !ok {
			return true
		}
	}
	return i.Tags[tagLacks] != ""
}

// read reads a virtual machine with all its marks; nil if it does not exist, or the machine may no longer
// maintain it.
func (s maintainer) read(ctx context.Context, c *conn, r provider.Ref, i provider.Instance) (*vm, *describeInput, error) {
	v, err := s.byID(ctx, c, i.ID)
	if err != nil || v == nil || v.template || v.copied(s.class.API) || !(finder(s)).may(v, r) {
		return nil, nil, err
	}
	if err := tagger(s).readTags(ctx, c, []*vm{v}, &r, tagger(s).tagsOf); err != nil {
		return nil, nil, err
	}
	k, err := finder(s).describeInput(ctx, c, []*vm{v})
	if err != nil || !tagger(s).inScope(v, v.named(k.fields), k.clusterTag, &r) {
		return nil, nil, err
	}
	return v, k, nil
}

// restore makes all repairs, and returns the errors of each.
func (s maintainer) restore(ctx context.Context, c *conn, r provider.Ref, v *vm, k *describeInput) error {
	marks := func() error { return tagger(s).attach(ctx, c, v, k.wanted) }
	if s.class.API == provider.Gardener {
		marks = func() error { return tagger(s).assign(ctx, c, v, k) }
	}
	parts := []error{
		s.sign(ctx, c, v, s.missingOptions(r, finder(s).toInstance(v, &r, k))),
		marks(),
		s.regroup(ctx, c, v),
	}
	for n, err := range parts {
		if gone(err) { // meanwhile
			parts[n] = nil
		} else if !notAuthenticated(err) {
			parts[n] = classify(err)
		}
	}
	return errors.Join(parts...)
}

// sign writes options. The error of the last attempt is returned first.
func (s maintainer) sign(ctx context.Context, c *conn, v *vm, options map[string]string) error {
	if len(options) == 0 {
		return nil
	}
	if busy, err := initializer(s).busy(ctx, c, v, taskOptions); busy || err != nil {
		return err
	}
	return initializer(s).write(ctx, c, v, options)
}

// regroup puts a virtual machine back into its group. The members are read once a minute for all.
func (s maintainer) regroup(ctx context.Context, c *conn, v *vm) error {
	name := groupOf(s.session, v.extra)
	if name == "" {
		return nil
	}
	in, err := vmGroups(s).has(ctx, c, v)
	if err != nil || in {
		return err
	}
	if _, err = vmGroups(s).join(ctx, c, v); err != nil {
		return fmt.Errorf("put %s into the group %s: %w", v.name, name, err)
	}
	return nil
}
