package cloud

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/millwright-dev/millwright/provider"
)

// Delete implements [provider.Session]. Disks and network interfaces are deleted with their instance,
// unless the spec says otherwise.
func (s *session) Delete(ctx context.Context, ref provider.Ref, instances []provider.Instance) (bool, error) {
	c, err := s.on(ctx, regionsOf(ref, instances)...)
	if err != nil {
		return false, s.observe("open the account", err)
	}
	if left, err := (deleter{s}).begin(ctx, c, instances); left || err != nil {
		return false, err
	}
	doomed, err := deleter{s}.toDelete(ctx, c, ref, instances)
	if err != nil {
		return false, err
	}
	if err := (loadBalancers{s}).deregister(ctx, c, loadBalancers{s}.former(c, ref, doomed, instances)); err != nil {
		return false, err
	}
	left, err := deleter{s}.terminate(ctx, c, doomed, unseen(doomed, instances))
	if err != nil || left {
		return false, err
	}
	return dedicatedHosts{s}.releaseHosts(ctx, c, ref, doomed)
}

// begin terminates given instances that are live, and reports whether something certainly remains. It does
// not search: other instances of the machine are searched after the end of these. Instances that load
// balancers identify by address are deregistered first, which needs a search.
func (s deleter) begin(ctx context.Context, c *client, given []provider.Instance) (left bool, err error) {
	if s.plan.byAddress() {
		return false, nil
	}
	for _, g := range given {
		switch g.State {
		case provider.Stopping:
			_, seen := c.observed.leaving.Recall(g.ID)
			left = left || seen
		case provider.Pending, provider.Running, provider.Stopped:
			going, err := s.terminateBatch(ctx, c, g.ID)
			if err != nil {
				return true, err
			}
			left = left || going
		}
	}
	return left, nil
}

func regionsOf(ref provider.Ref, instances []provider.Instance) (regions []string) {
	for _, i := range instances {
		regions = append(regions, i.Region)
	}
	return append(regions, regionIn(ref.ProviderID))
}

// toDelete are the instances to delete, as EC2 shows them: the given ones, and those with the machine's UID.
func (s deleter) toDelete(ctx context.Context, c *client, ref provider.Ref, given []provider.Instance) (out []types.Instance, err error) {
	scope := finder(s).scopeOf(true)
	var others []string
	for _, g := range given {
		if g.UID != ref.UID || ref.UID == "" {
			others = append(others, g.ID)
		}
	}
	if ref.UID != "" {
		all, err := finder(s).by(ctx, c, "tag:"+uidTag, ref.UID, scope)
		if err != nil {
			return nil, err
		}
		for _, i := range all {
			if mapOf(i.Tags)[uidTag] == ref.UID {
				out = append(out, i)
			}
		}
	}
	if len(others) == 0 {
		return out, nil
	}
	for i, err := range finder(s).each(ctx, c, append(slices.Clone(scope), where("instance-id", others...))) {
		if err != nil {
			return nil, err
		}
		if mapOf(i.Tags)[uidTag] != ref.UID || ref.UID == "" {
			out = append(out, i)
		}
	}
	return out, nil
}

// unseen are given instances that EC2 does not show: they are deleted, or too new to be visible.
func unseen(seen []types.Instance, given []provider.Instance) (ids []string) {
	for _, g := range given {
		if g.State != provider.Terminated && !slices.ContainsFunc(seen, func(i types.Instance) bool { return deref(i.InstanceId) == g.ID }) {
			ids = append(ids, g.ID)
		}
	}
	return ids
}

// terminate terminates instances that are not under deletion yet, and reports whether any remains. Each unseen
// instance has its own request, since EC2 refuses the whole request if it does not know one of them.
func (s deleter) terminate(ctx context.Context, c *client, seen []types.Instance, unseen []string) (left bool, err error) {
	for _, i := range seen {
		switch id := deref(i.InstanceId); stateOf(i) {
		case types.InstanceStateNameTerminated:
		case types.InstanceStateNameShuttingDown:
			left = true
		default:
			going, err := s.terminateBatch(ctx, c, id)
			if err != nil {
				return left, err
			}
			left = left || going
		}
	}
	for _, id := range unseen {
		going, err := s.terminateOne(ctx, c, id)
		if err != nil {
			return left, err
		}
		left = left || going
	}
	return left, nil
}

// terminateBatch terminates an instance in one request with other concurrent ones. If EC2 refuses that for one of
// them, each gets its own request.
func (s deleter) terminateBatch(ctx context.Context, c *client, id string) (going bool, err error) {
	several := false
	changes, err := c.terminations.ask(ctx, "terminate", id, func(ctx context.Context, ids []string) ([]types.InstanceStateChange, error) {
		out, err := c.ec2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: ids})
		if err != nil {
			return nil, &refusedError{ids: len(ids), err: err}
		}
		return out.TerminatingInstances, nil
	})
	if r, ok := errors.AsType[*refusedError](err); ok {
		several, err = r.ids > 1, r.err
	}
	if err == nil {
		return notTerminated(changes, id), nil
	}
	judged := classify("terminate "+id, err, nil)
	if kind := provider.KindOf(judged); several && kind != provider.Throttled && kind != provider.Transient || strings.HasPrefix(codeOf(err), missingInstance) {
		return s.terminateOne(ctx, c, id)
	}
	return true, s.observe("terminate "+id, err)
}

// refusedError is the refusal of a request for several instances.
type refusedError struct {
	ids int
	err error
}

func (e *refusedError) Error() string { return e.err.Error() }
func (e *refusedError) Unwrap() error { return e.err }

// missingInstance is the prefix of codes for an instance that does not exist.
const missingInstance = "InvalidInstanceID."

// terminateOne terminates an instance. If it does not exist, it is done.
func (s deleter) terminateOne(ctx context.Context, c *client, id string) (going bool, err error) {
	out, err := c.ec2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{id}})
	switch {
	case strings.HasPrefix(codeOf(err), missingInstance):
		return false, nil
	case err != nil:
		return true, s.observe("terminate "+id, err)
	}
	return notTerminated(out.TerminatingInstances, id), nil
}

func notTerminated(changes []types.InstanceStateChange, id string) bool {
	return slices.ContainsFunc(changes, func(ch types.InstanceStateChange) bool {
		return deref(ch.InstanceId) == id && (ch.CurrentState == nil || ch.CurrentState.Name != types.InstanceStateNameTerminated)
	})
}
