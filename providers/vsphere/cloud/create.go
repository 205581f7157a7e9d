package cloud

import (
	"context"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/millwright-dev/millwright/provider"
)

// Create implements [provider.Session]: it begins a clone. Three things prevent a second instance: it looks
// first, a folder has only one virtual machine of a name, and it records the clones in progress.
//
// A failed clone leaves no instance that could report the failure: the next Create returns the reason.
func (s *session) Create(ctx context.Context, r provider.Ref, want provider.Want) (made provider.Instance, err error) {
	switch {
	case s.plan == nil:
		return made, provider.Errorf(provider.Invalid, "the class has no spec")
	case want.Choice != "" && want.Choice != choice(s).Name:
		return made, provider.Errorf(provider.Invalid, "the spec has no choice called %q", want.Choice)
	case r.Name == "" || r.UID == "":
		return made, provider.Errorf(provider.Invalid, "a machine has a name and a UID")
	}
	err = s.with(ctx, func(c *conn) error {
		found, err := finder{s}.find(ctx, c, r)
		if err != nil {
			return err
		}
		cloning, err := finder{s}.cloning(ctx, c, r)
		if err != nil {
			return err
		}
		if all := provider.Existing(append(found, cloning...)); len(all) > 0 {
			made = all[0]
			return nil
		}
		made, err = creator{s}.clone(ctx, c, r, want)
		return err
	})
	return made, narrowed(s, err)
}

// cloning is the machine's clone in progress, as an instance that is Pending, or an empty list. The
// reason of a failure is kept for Create.
func (s finder) cloning(ctx context.Context, c *conn, r provider.Ref) ([]provider.Instance, error) {
	id := s.uuids(r)[0]
	t, ok := s.provider.tasks.get(id)
	if !ok || t.what != taskClone || t.hasFailed() {
		return nil, nil
	}
	info, known, err := c.state(ctx, t.ref)
	switch {
	case err != nil:
		return nil, err
	case !known:
		s.provider.tasks.forget(id)
		return nil, nil
	case running(info):
		return []provider.Instance{t.of}, nil
	case info.State == types.TaskInfoStateError:
		s.provider.tasks.failed(id, t.ref, taskError{info.Error})
		return nil, nil
	}
	// It has come into existence since the lookup.
	made, ok := info.Result.(ref)
	if !ok {
		return nil, nil
	}
	all, err := c.read(ctx, []ref{made})
	if err != nil {
		return nil, err
	}
	for _, v := range all {
		if err := v.legible(); err != nil {
			return nil, err
		}
	}
	all = slices.DeleteFunc(all, func(v *vm) bool { return !s.may(v, r) })
	s.provider.tasks.forget(id)
	return s.toInstances(ctx, c, all, &r, tagger(s).tagsOf)
}

const (
	taskClone    = "clone"
	taskPowerOn  = "power on"
	taskPowerOff = "power off"
	taskDestroy  = "destroy"
	taskDetach   = "detach volumes"
	taskUpgrade  = "upgrade the virtual hardware"
	taskOptions  = "write options"
)

// creator makes requests for clones.
type creator struct{ *session }

func (s creator) clone(ctx context.Context, c *conn, r provider.Ref, want provider.Want) (made provider.Instance, err error) {
	id := s.uuids(r)[0]
	if err := s.failure(c, r); err != nil {
		return made, err
	}
	template, at, request, err := s.request(ctx, c, r, want)
	if err != nil {
		return made, err
	}
	answer, err := methods.CloneVM_Task(ctx, c.vim, &types.CloneVM_Task{This: template, Folder: at.folder, Name: r.Name, Spec: *request})
	if err != nil {
		return made, fmt.Errorf("clone the template %s: %w", s.plan.template, err)
	}
	made = provider.Instance{
		ID: id, UID: r.UID, Name: r.Name, Owner: s.class.Owner, Namespace: r.Namespace, State: provider.Pending, RawState: "cloning",
		Created: s.provider.config.Clock.Now(), Region: s.region(), Tags: map[string]string{},
	}
	if s.class.API == provider.Gardener {
		made.NodeName = r.Name
	}
	s.provider.tasks.put(id, &task{ref: answer.Returnval, what: taskClone, of: made, choice: choice(s.session)})
	return made, nil
}

// failure is the reason why the last clone for a machine failed. It is returned once, and not to a call for
// another choice, to which it does not apply.
func (s creator) failure(c *conn, r provider.Ref) error {
	id := s.uuids(r)[0]
	t, ok := s.provider.tasks.get(id)
	if !ok || t.what != taskClone || !t.hasFailed() {
		return nil
	}
	s.provider.tasks.forget(id)
	c.memo.ForgetAll() // an object that was found may no longer exist
	switch {
	case t.choice != choice(s.session):
		return nil
	case taken(t.fault):
		return provider.Errorf(provider.Conflict, "another virtual machine in the folder has the name %s: %w", r.Name, t.fault)
	}
	return fmt.Errorf("clone the template %s: %w", s.plan.template, t.fault)
}

// taken reports whether a clone failed because a virtual machine of its name exists.
func taken(err error) bool {
	switch faultOf(err).(type) {
	case *types.DuplicateName, *types.AlreadyExists:
		return true
	}
	return false
}

// request is the request to the vCenter.
func (s creator) request(ctx context.Context, c *conn, r provider.Ref, want provider.Want) (template ref, at clonePlacement, request *types.VirtualMachineCloneSpec, err error) {
	i := inventory(s)
	if template, err = i.templateRef(ctx, c); err != nil {
		return template, at, nil, err
	}
	t, err := s.readTemplate(ctx, c, template)
	if err != nil {
		return template, at, nil, err
	}
	if at, err = i.clonePlacement(ctx, c); err != nil {
		return template, at, nil, err
	}
	request = &types.VirtualMachineCloneSpec{
		Location: types.VirtualMachineRelocateSpec{Datastore: at.datastore, Folder: &at.folder, Pool: &at.pool, Host: at.host, DiskMoveType: moveAll},
	}
	if s.plan.linked {
		if request.Snapshot, err = s.snapshot(t); err != nil {
			return template, at, nil, err
		}
		if request.Snapshot != nil {
			request.Location.DiskMoveType = moveNone
		}
	}
	if request.Config, err = s.config(ctx, t, r, want); err != nil {
		return template, at, nil, err
	}
	if request.Config.DeviceChange, err = s.devices(ctx, c, t, at, request.Snapshot != nil); err != nil {
		return template, at, nil, err
	}
	if request.Customization, err = s.customization(ctx, c); err != nil {
		return template, at, nil, err
	}
	return template, at, request, i.recommend(ctx, c, template, r.Name, request)
}

const (
	moveAll  = string(types.VirtualMachineRelocateDiskMoveOptionsMoveAllDiskBackingsAndConsolidate)
	moveNone = string(types.VirtualMachineRelocateDiskMoveOptionsCreateNewChildDiskBacking)
)

// snapshot is the snapshot that a linked clone shares its disk with: the one that the spec names, or the
// template's current one. A template without snapshots is cloned in full, as in the original; an unknown
// name is an error.
func (s creator) snapshot(t *templateVM) (*ref, error) {
	if s.plan.snapshot == "" {
		return t.current, nil
	}
	if found, ok := t.snapshots[s.plan.snapshot]; ok {
		return &found, nil
	}
	return nil, provider.InvalidField("snapshot", "the template %q has no snapshot %q", s.plan.template, s.plan.snapshot)
}
