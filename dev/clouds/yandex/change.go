package yandex

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/yandex-cloud/go-genproto/yandex/cloud/compute/v1"
	"github.com/yandex-cloud/go-genproto/yandex/cloud/operation"
)

var (
	whileOn  = []compute.Instance_Status{compute.Instance_RUNNING}
	whileOff = []compute.Instance_Status{compute.Instance_STOPPED}
	whileSet = []compute.Instance_Status{compute.Instance_RUNNING, compute.Instance_STOPPED}
	ever     = []compute.Instance_Status{
		compute.Instance_PROVISIONING, compute.Instance_STARTING, compute.Instance_RUNNING, compute.Instance_STOPPING, compute.Instance_STOPPED,
	}
)

// Delete implements the service of instances. It waits for no other operation.
func (s instanceService) Delete(ctx context.Context, in *compute.DeleteInstanceRequest) (*operation.Operation, error) {
	return s.change(ctx, in.GetInstanceId(), "Delete instance", &compute.DeleteInstanceMetadata{InstanceId: in.GetInstanceId()}, whileSet, func(i instance) (time.Duration, error) {
		s.wish(i.ID, wishDelete)
		return s.options.Delete, nil
	})
}

// Stop implements the service of instances.
func (s instanceService) Stop(ctx context.Context, in *compute.StopInstanceRequest) (*operation.Operation, error) {
	return s.change(ctx, in.GetInstanceId(), "Stop instance", &compute.StopInstanceMetadata{InstanceId: in.GetInstanceId()}, whileOn, func(i instance) (time.Duration, error) {
		s.wish(i.ID, wishStop)
		return s.options.Delete, nil
	})
}

// Start implements the service of instances.
func (s instanceService) Start(ctx context.Context, in *compute.StartInstanceRequest) (*operation.Operation, error) {
	return s.change(ctx, in.GetInstanceId(), "Start instance", &compute.StartInstanceMetadata{InstanceId: in.GetInstanceId()}, whileOff, func(i instance) (time.Duration, error) {
		if s.Lacks(i.zone(), i.zone()+"/"+i.Request.GetPlatformId()) {
			return 0, noCapacity()
		}
		s.wish(i.ID, wishRun)
		return s.options.Boot, nil
	})
}

// Restart implements the service of instances.
func (s instanceService) Restart(ctx context.Context, in *compute.RestartInstanceRequest) (*operation.Operation, error) {
	return s.change(ctx, in.GetInstanceId(), "Restart instance", &compute.RestartInstanceMetadata{InstanceId: in.GetInstanceId()}, whileOn, func(i instance) (time.Duration, error) {
		s.wish(i.ID, wishRun)
		return s.options.Boot, nil
	})
}

// Update implements the service of instances, for labels only.
func (s instanceService) Update(ctx context.Context, in *compute.UpdateInstanceRequest) (*operation.Operation, error) {
	return s.change(ctx, in.GetInstanceId(), "Update instance", &compute.UpdateInstanceMetadata{InstanceId: in.GetInstanceId()}, ever, func(i instance) (time.Duration, error) {
		if !slices.Equal(in.GetUpdateMask().GetPaths(), []string{"labels"}) {
			return 0, invalid("update_mask", "This simulator updates labels only, with the mask \"labels\"")
		}
		if err := checkLabels(in.GetLabels()); err != nil {
			return 0, err
		}
		s.instances.Change(i.ID, func(i *instance) { i.Labels = maps.Clone(in.GetLabels()) })
		return 0, nil
	})
}
