package providertest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/millwright-dev/millwright/provider"
)

func capabilityChecks() []Check {
	return []Check{
		check("initializer", "the step after creation ends, and may be repeated", checkInitializer),
		check("maintainer", "people take away what makes an instance known", checkMaintainer),
		check("sizer", "scaling from zero needs to know what a node would offer", checkSizer),
		check("status", "provider status is part of each API", checkStatus),
		check("powerer", "a reboot is the first remedy, and no replacement", checkPowerer),
		check("reboots once", "a reboot whose reply was lost is asked for again", checkRebootsOnce),
		check("nodes identified", "what is written on a node as its provider ID stays there", checkIdentifiesNodes),
		check("spec reader", "secrets are found without decoding the spec elsewhere", checkSpecReader),
	}
}

// capability finds T on v or skips the check.
func capability[T any](v any, name string) (T, error) {
	t, ok := provider.As[T](v)
	if !ok {
		return t, Skip("the provider has no " + name)
	}
	return t, nil
}

func checkInitializer(ctx context.Context, b *bench) error {
	in, err := capability[provider.Initializer](b.session, "Initializer")
	if err != nil {
		return err
	}
	ref := b.ref("m")
	i, err := b.running(ctx, ref)
	if err != nil {
		return err
	}
	for range 2 {
		if err := in.Initialize(ctx, ref, i); err != nil {
			return fmt.Errorf("initialize: %w", err)
		}
	}
	return b.eventually(ctx, "the instance is initialized", func() (bool, error) {
		found, err := b.only(ctx, ref)
		return !found.Uninitialized, err
	})
}

func checkMaintainer(ctx context.Context, b *bench) error {
	m, err := capability[provider.Maintainer](b.session, "Maintainer")
	if err != nil {
		return err
	}
	if b.Strip == nil {
		return Skip("the infrastructure cannot strip an instance (Knobs.Strip)")
	}
	ref := b.ref("m")
	i, err := b.running(ctx, ref)
	if err != nil {
		return err
	}
	if err := b.Strip(b.class, i.ID); err != nil {
		return err
	}
	err = b.eventually(ctx, "something differs", func() (bool, error) {
		i, err = b.only(ctx, ref)
		return m.Unkept(ref, i), err
	})
	if err != nil {
		return err
	}
	for range 2 {
		if err := m.Maintain(ctx, ref, i); err != nil {
			return fmt.Errorf("maintain: %w", err)
		}
	}
	err = b.eventually(ctx, "nothing differs any more", func() (bool, error) {
		found, err := b.only(ctx, ref)
		if err == nil && (found.ID != i.ID || found.State != provider.Running) {
			err = fmt.Errorf("maintaining %s has left %s, which is %s", i.ID, found.ID, found.State)
		}
		return !m.Unkept(ref, found), err
	})
	if err != nil {
		return err
	}
	return b.holds(1)
}

func checkSizer(ctx context.Context, b *bench) error {
	s, err := capability[provider.Sizer](b.session, "Sizer")
	if err != nil {
		return err
	}
	size, err := s.Size(ctx)
	if err != nil {
		return fmt.Errorf("size: %w", err)
	}
	if size.VCPU <= 0 || size.MemoryMiB <= 0 || size.GPU < 0 || size.MaxPods < 0 || size.EphemeralStorageMiB < 0 {
		return fmt.Errorf("size of a valid class: %+v", size)
	}
	return wellFormed(size)
}

// wellFormed checks that an autoscaler can parse the size: it separates labels and taints by commas.
func wellFormed(size provider.Size) error {
	for key, value := range size.Labels {
		if why := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)...); len(why) > 0 {
			return fmt.Errorf("label %q=%q of the size: %v", key, value, why)
		}
	}
	effects := []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}
	for _, t := range size.Taints {
		why := append(validation.IsQualifiedName(t.Key), validation.IsValidLabelValue(t.Value)...)
		if len(why) > 0 || !slices.Contains(effects, t.Effect) {
			return fmt.Errorf("taint %+v of the size: effect %q: %v", t, t.Effect, why)
		}
	}
	return nil
}

// statusIsJSON are the APIs whose provider status is JSON; that of others is text.
var statusIsJSON = map[string]bool{provider.OpenShift: true}

func checkStatus(ctx context.Context, b *bench) error {
	i, err := b.running(ctx, b.ref("m"))
	if err != nil {
		return err
	}
	first, err := b.session.Status(i)
	if err != nil {
		return fmt.Errorf("status: %w", err)
	}
	if statusIsJSON[b.api] && first != nil && !json.Valid(first) {
		return fmt.Errorf("provider status is not JSON: %s", first)
	}
	second, err := b.session.Status(i)
	if err != nil || !bytes.Equal(first, second) {
		return fmt.Errorf("the same instance gives %s, then %s (error %w): the object would be written again and again", first, second, orNone(err))
	}
	return nil
}

func checkPowerer(ctx context.Context, b *bench) error {
	p, err := capability[provider.Powerer](b.session, "Powerer")
	if err != nil {
		return err
	}
	ref := b.ref("m")
	i, err := b.running(ctx, ref)
	if err != nil {
		return err
	}
	for _, op := range []struct {
		op   provider.PowerOp
		then provider.State
	}{
		{provider.PowerOff, provider.Stopped},
		{provider.PowerOff, provider.Stopped},
		{provider.PowerOn, provider.Running},
		{provider.Reboot, provider.Running},
	} {
		if err := p.Power(ctx, ref, i, op.op, b.request()); err != nil {
			return fmt.Errorf("power %s: %w", op.op, err)
		}
		err := b.eventually(ctx, fmt.Sprintf("after %s it is %s", op.op, op.then), func() (bool, error) {
			found, err := b.only(ctx, ref)
			if err == nil && found.ID != i.ID {
				err = fmt.Errorf("power %s turned %s into %s", op.op, i.ID, found.ID)
			}
			return found.State == op.then, err
		})
		if err != nil {
			return err
		}
	}
	return b.holds(1)
}

// request returns a request that no reboot has had.
func (b *bench) request() string {
	b.requests++
	return time.Unix(0, 0).UTC().Add(time.Duration(b.requests) * time.Second).Format(time.RFC3339)
}

// checkRebootsOnce uses an instance that is off to see whether a call has an effect: a reboot starts it.
func checkRebootsOnce(ctx context.Context, b *bench) error {
	if !b.session.Traits().RebootsOnce {
		return Skip("each call is another reboot")
	}
	p, err := capability[provider.Powerer](b.session, "Powerer")
	if err != nil {
		return err
	}
	ref := b.ref("m")
	i, err := b.running(ctx, ref)
	if err != nil {
		return err
	}
	off := func() error { return p.Power(ctx, ref, i, provider.PowerOff, "") }
	reboot := func(request string) func() error {
		return func() error { return p.Power(ctx, ref, i, provider.Reboot, request) }
	}
	for _, s := range []struct {
		what string
		do   func() error
		then provider.State
	}{
		{"a reboot", reboot("2026-01-01T00:00:00Z"), provider.Running},
		{"power off", off, provider.Stopped},
		{"the same reboot again, which changes nothing", reboot("2026-01-01T00:00:00Z"), provider.Stopped},
		{"another reboot", reboot("2026-01-01T00:00:01Z"), provider.Running},
	} {
		if err := s.do(); err != nil {
			return fmt.Errorf("%s: %w", s.what, err)
		}
		err := b.eventually(ctx, fmt.Sprintf("after %s it is %s", s.what, s.then), func() (bool, error) {
			found, err := b.only(ctx, ref)
			if err == nil && found.ID != i.ID {
				err = fmt.Errorf("%s turned %s into %s", s.what, i.ID, found.ID)
			}
			return found.State == s.then, err
		})
		if err != nil {
			return err
		}
	}
	return b.holds(1)
}

// checkIdentifiesNodes: a provider ID can be written on a node only if addresses or a name match the node
// to the instance, and if it never changes.
func checkIdentifiesNodes(ctx context.Context, b *bench) error {
	if !b.session.Traits().IdentifiesNodes {
		return Skip("another component sets the provider IDs of the class's nodes")
	}
	ref := b.ref("m")
	before, err := b.running(ctx, ref)
	if err != nil {
		return err
	}
	internal := func(a corev1.NodeAddress) bool { return a.Type == corev1.NodeInternalIP }
	if before.NodeName == "" && !slices.ContainsFunc(before.Addresses, internal) {
		return fmt.Errorf("instance %s, which runs, has neither an internal IP nor the name of its node: no node is known to be its", before.ID)
	}
	if err := b.restart(ctx); err != nil {
		return err
	}
	after, err := b.running(ctx, ref)
	if err != nil {
		return err
	}
	if before.ProviderID == "" || after.ProviderID != before.ProviderID {
		return fmt.Errorf("the provider ID of one instance is %q, and then %q, which no node can become", before.ProviderID, after.ProviderID)
	}
	return b.holds(1)
}

func checkSpecReader(_ context.Context, b *bench) error {
	r, err := capability[provider.SpecReader](b.provider, "SpecReader")
	if err != nil {
		return err
	}
	if _, err := r.ReadSpec(b.api, b.class.Spec); err != nil {
		return fmt.Errorf("read a valid spec: %w", err)
	}
	if _, err := r.ReadSpec(b.api, []byte(`{"`)); err == nil {
		return errors.New("reading what is no JSON gives no error")
	}
	return nil
}
