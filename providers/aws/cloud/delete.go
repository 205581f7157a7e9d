package cloud

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/millwright-dev/millwright/provider"
)

// Delete implements [provider.Session]. Disks and network interfaces go with their instance, unless the spec says otherwise.
func (s *session) Delete(ctx context.Context, ref provider.Ref, instances []provider.Instance) (bool, error) {
	c, err := s.on(ctx, placesOf(ref, instances)...)
	if err != nil {
		return false, s.judge("open the account", err)
	}
	doomed, err := removing{s}.doomed(ctx, c, ref, instances)
	if err != nil {
		return false, err
	}
	if err := (balancing{s}).deregister(ctx, c, doomed, instances); err != nil {
		return false, err
	}
	left, err := removing{s}.end(ctx, c, doomed, unseen(doomed, instances))
	if err != nil || left {
		return false, err
	}
	return hosting{s}.releaseHosts(ctx, c, ref, doomed)
}

func placesOf(ref provider.Ref, instances []provider.Instance) (regions []string) {
	for _, i := range instances {
		regions = append(regions, i.Region)
	}
	return append(regions, regionIn(ref.ProviderID))
}

// doomed are the instances that have to go, as EC2 shows them: those given, and those with the machine's UID.
func (s removing) doomed(ctx context.Context, c *client, ref provider.Ref, given []provider.Instance) (out []types.Instance, err error) {
	var looks []types.Filter
	if ref.UID != "" {
		looks = append(looks, where("tag:"+uidTag, ref.UID))
	}
	var others []string
	for _, g := range given {
		if g.UID != ref.UID || ref.UID == "" {
			others = append(others, g.ID)
		}
	}
	if len(others) > 0 {
		looks = append(looks, where("instance-id", others...))
	}
	for _, look := range looks {
		by := []types.Filter{look}
		if s.plan != nil || s.class.API == provider.OpenShift {
			by = append(by, belonging{s.session}.scope()...) // else only the cluster's own key is known, and the UID tells enough
		}
		for i, err := range (reading{s.session}).each(ctx, c, by) {
			if err != nil {
				return nil, err
			}
			out = append(out, i)
		}
	}
	return out, nil
}

// unseen are given instances that EC2 does not show: they are gone, or too new to be seen.
func unseen(seen []types.Instance, given []provider.Instance) (ids []string) {
	for _, g := range given {
		if g.State != provider.Terminated && !slices.ContainsFunc(seen, func(i types.Instance) bool { return deref(i.InstanceId) == g.ID }) {
			ids = append(ids, g.ID)
		}
	}
	return ids
}

// end terminates what is not on its way yet, and reports whether anything is left. What is not seen is asked for one by one,
// since EC2 refuses the whole request for one that it does not know.
func (s removing) end(ctx context.Context, c *client, seen []types.Instance, unseen []string) (left bool, err error) {
	var calls [][]string
	var living []string
	for _, i := range seen {
		switch stateOf(i) {
		case types.InstanceStateNameTerminated:
		case types.InstanceStateNameShuttingDown:
			left = true
		default:
			living = append(living, deref(i.InstanceId))
		}
	}
	if len(living) > 0 {
		calls = append(calls, living)
	}
	for _, id := range unseen {
		calls = append(calls, []string{id})
	}
	for _, ids := range calls {
		changes, err := s.terminate(ctx, c, ids)
		if code := codeOf(err); len(ids) == 1 && strings.HasPrefix(code, "InvalidInstanceID.") {
			continue
		}
		if err != nil {
			return left, s.judge("terminate "+strings.Join(ids, ", "), err)
		}
		left = left || slices.ContainsFunc(changes, func(ch types.InstanceStateChange) bool {
			return ch.CurrentState == nil || ch.CurrentState.Name != types.InstanceStateNameTerminated
		})
	}
	return left, nil
}
