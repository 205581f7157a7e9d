package cloud

import (
	"context"
	"errors"
	"slices"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/millwright-dev/millwright/provider"
)

// deleter removes virtual machines, one step at each call.
type deleter struct{ *session }

// Delete implements [provider.Session]: power off, detach volumes, leave the group, destroy.
func (s *session) Delete(ctx context.Context, r provider.Ref, instances []provider.Instance) (done bool, err error) {
	err = s.with(ctx, func(c *conn) error {
		done = true
		stopped, err := deleter{s}.stopCloning(ctx, c, r)
		if err != nil {
			return err
		}
		all, err := deleter{s}.targets(ctx, c, r, instances)
		if err != nil {
			return err
		}
		done = stopped && len(all) == 0
		var errs []error
		for _, v := range all {
			errs = append(errs, deleter{s}.step(ctx, c, v))
		}
		return errors.Join(errs...)
	})
	if !done || err != nil || r.UID == "" || s.plan == nil {
		return done && err == nil, err
	}
	err = claims{s.provider.config.Objects}.release(ctx, r, s.plan.nics)
	return err == nil, err
}

// stopCloning cancels a clone in progress, and reports whether no clone is left.
func (s deleter) stopCloning(ctx context.Context, c *conn, r provider.Ref) (bool, error) {
	if r.UID == "" {
		return true, nil
	}
	id := s.uuids(r)[0]
	t, ok := s.provider.tasks.get(id)
	if !ok || t.what != taskClone {
		return true, nil
	}
	info, known, err := c.state(ctx, t.ref)
	if err != nil {
		return false, err
	}
	if !known || !running(info) {
		s.provider.tasks.forget(id)
		return true, nil
	}
	if info.Cancelable && !info.Cancelled {
		_, err = methods.CancelTask(ctx, c.vim, &types.CancelTask{This: t.ref})
		switch faultOf(err).(type) {
		case *types.InvalidState: // it has ended
			err = nil
		case *types.NoPermission: // few users may: Delete waits for the clone and removes its result
			err = nil
		}
	}
	return false, err
}

// targets are the virtual machines to be removed: the given ones, by their instance UUIDs, and those that
// were created for the machine.
func (s deleter) targets(ctx context.Context, c *conn, r provider.Ref, given []provider.Instance) (all []*vm, err error) {
	if r.UID != "" {
		made, err := finder(s).candidates(ctx, c, provider.Ref{UID: r.UID, Name: r.Name})
		if err != nil {
			return nil, err
		}
		for _, v := range made {
			if finder(s).isOf(v, r) && !v.template && !v.copied(s.class.API) {
				all = append(all, v)
			}
		}
	}
	for _, i := range given {
		if i.ID == "" || slices.ContainsFunc(all, func(v *vm) bool { return v.instanceUUID == i.ID }) {
			continue
		}
		v, err := s.byID(ctx, c, i.ID)
		if err != nil {
			return nil, err
		}
		if v == nil {
			continue
		}
		if err := v.legible(); err != nil {
			return nil, err
		}
		if !v.template {
			all = append(all, v)
		}
	}
	return all, nil
}

// step does the next step of the deletion.
func (s deleter) step(ctx context.Context, c *conn, v *vm) error {
	busy, err := initializer(s).busy(ctx, c, v, taskPowerOff, taskDetach, taskDestroy)
	if busy || err != nil {
		return err
	}
	if v.power != types.VirtualMachinePowerStatePoweredOff {
		return s.begin(v, taskPowerOff, func() (ref, error) {
			r, err := methods.PowerOffVM_Task(ctx, c.vim, &types.PowerOffVM_Task{This: v.ref})
			if err != nil {
				return ref{}, err
			}
			return r.Returnval, nil
		})
	}
	volumes, err := c.volumes(ctx, v)
	if err != nil {
		return err
	}
	if len(volumes) > 0 {
		return s.begin(v, taskDetach, func() (ref, error) { return c.detach(ctx, v, volumes) })
	}
	if groupOf(s.session, v.extra) != "" {
		if out, err := vmGroups(s).leave(ctx, c, v); err != nil || !out {
			return err
		}
	}
	return s.begin(v, taskDestroy, func() (ref, error) {
		r, err := methods.Destroy_Task(ctx, c.vim, &types.Destroy_Task{This: v.ref})
		if err != nil {
			return ref{}, err
		}
		return r.Returnval, nil
	})
}

// begin begins a step that another process or a user may have taken already.
func (s deleter) begin(v *vm, what string, call func() (ref, error)) error {
	err := initializer(s).begin(v, what, call)
	if gone(err) || underWay(err) {
		return nil
	}
	return err
}

// detach detaches disks and keeps their files.
func (c *conn) detach(ctx context.Context, v *vm, disks object.VirtualDeviceList) (ref, error) {
	spec := types.VirtualMachineConfigSpec{}
	for _, d := range disks {
		spec.DeviceChange = append(spec.DeviceChange, &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationRemove, Device: d})
	}
	r, err := methods.ReconfigVM_Task(ctx, c.vim, &types.ReconfigVM_Task{This: v.ref, Spec: spec})
	if err != nil {
		return ref{}, err
	}
	return r.Returnval, nil
}
