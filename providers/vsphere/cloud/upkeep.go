package cloud

import (
	"context"
	"errors"
	"fmt"

	"github.com/millwright-dev/millwright/provider"
)

// keeper maintains a running virtual machine: options that record its owner, tags, custom attributes, and
// the membership of a group.
type keeper struct{ *session }

// Unkept implements [provider.Maintainer]. An instance does not show which groups it is in.
func (s *session) Unkept(r provider.Ref, i provider.Instance) bool {
	if s.plan == nil || !(keeper{s}).may(r, i) {
		return false
	}
	return groupOf(s, i.Tags) != "" || len(keeper{s}.owed(r, i)) > 0 || keeper{s}.lacks(i)
}

// Maintain implements [provider.Maintainer]. A failed repair does not stop the others, and the session
// stays: a privilege that only repairs need is no reason to log in again.
func (s *session) Maintain(ctx context.Context, r provider.Ref, i provider.Instance) error {
	if s.plan == nil || !(keeper{s}).may(r, i) {
		return nil
	}
	var refused error
	err := s.with(ctx, func(c *conn) error {
		refused = nil
		v, k, err := keeper{s}.look(ctx, c, r, i)
		if err != nil || v == nil {
			return err
		}
		refused = keeper{s}.mend(ctx, c, r, v, k)
		if notAuthenticated(refused) { // once more, in another session
			err, refused = refused, nil
		}
		return err
	})
	return errors.Join(err, refused)
}

// may reports whether the machine may maintain an instance. It may not if the instance has another
// machine's UID.
func (s keeper) may(r provider.Ref, i provider.Instance) bool { return i.UID == "" || i.UID == r.UID }

// owed are the missing options that record the owner of an instance. They are written only if the instance
// UUID is the machine's: that is proof, a name or an attribute is not. Existing values are not changed; the
// original settings of the clone cannot be restored.
func (s keeper) owed(r provider.Ref, i provider.Instance) map[string]string {
	if !bears(s.session, &vm{instanceUUID: i.ID}, r) {
		return nil
	}
	all := cloner(s).identity(r)
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
func (s keeper) lacks(i provider.Instance) bool {
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

// look reads a virtual machine with all its marks; nil if it does not exist, or the machine may no longer
// maintain it.
func (s keeper) look(ctx context.Context, c *conn, r provider.Ref, i provider.Instance) (*vm, *knowledge, error) {
	v, err := s.byID(ctx, c, i.ID)
	if err != nil || v == nil || v.template || v.copied(s.class.API) || !(reader(s)).may(v, r) {
		return nil, nil, err
	}
	if err := marker(s).learn(ctx, c, []*vm{v}, &r, marker(s).tagsOf); err != nil {
		return nil, nil, err
	}
	k, err := reader(s).knowledge(ctx, c, []*vm{v})
	if err != nil || !marker(s).inScope(v, v.named(k.fields), k.clusterTag, &r) {
		return nil, nil, err
	}
	return v, k, nil
}

// mend makes all repairs, and returns the errors of each.
func (s keeper) mend(ctx context.Context, c *conn, r provider.Ref, v *vm, k *knowledge) error {
	marks := func() error { return marker(s).attach(ctx, c, v, k.wanted) }
	if s.class.API == provider.Gardener {
		marks = func() error { return marker(s).assign(ctx, c, v, k) }
	}
	parts := []error{
		s.sign(ctx, c, v, s.owed(r, reader(s).instance(v, &r, k))),
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
func (s keeper) sign(ctx context.Context, c *conn, v *vm, options map[string]string) error {
	if len(options) == 0 {
		return nil
	}
	if busy, err := starter(s).busy(ctx, c, v, taskOptions); busy || err != nil {
		return err
	}
	return starter(s).write(ctx, c, v, options)
}

// regroup puts a virtual machine back into its group. The members are read once a minute for all.
func (s keeper) regroup(ctx context.Context, c *conn, v *vm) error {
	name := groupOf(s.session, v.extra)
	if name == "" {
		return nil
	}
	in, err := grouper(s).has(ctx, c, v)
	if err != nil || in {
		return err
	}
	if _, err = grouper(s).join(ctx, c, v); err != nil {
		return fmt.Errorf("put %s into the group %s: %w", v.name, name, err)
	}
	return nil
}
