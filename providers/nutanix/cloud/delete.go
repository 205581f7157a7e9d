package cloud

import (
	"context"
	"net/http"

	"github.com/millwright-dev/millwright/provider"
)

// Delete implements [provider.Session]. Prism Central deletes disks and network interfaces with their virtual machine.
func (s *session) Delete(ctx context.Context, ref provider.Ref, given []provider.Instance) (bool, error) {
	c, err := s.client(ctx)
	if err != nil {
		return false, err
	}
	left := false
	for _, g := range given {
		remains, err := deleter{s}.delete(ctx, c, g.ID)
		if err != nil {
			return false, err
		}
		left = left || remains
	}
	if left || ref.UID == "" {
		return !left, nil
	}
	own, err := finder{s}.find(ctx, c, ref)
	if err != nil {
		return false, err
	}
	for _, i := range own {
		if i.UID != ref.UID || !i.Exists() {
			continue
		}
		remains, err := deleter{s}.delete(ctx, c, i.ID)
		if err != nil {
			return false, err
		}
		left = left || remains
	}
	if left {
		return false, nil
	}
	return true, s.release(ctx, c, ref)
}

// delete deletes a virtual machine, unless that has begun, and reports whether it remains for now.
func (s deleter) delete(ctx context.Context, c *client, uuid string) (remains bool, err error) {
	if _, gone := c.gone.Recall(uuid); gone {
		return false, nil
	}
	if name, leaving := c.leaving.Recall(uuid); leaving {
		return s.progress(ctx, c, uuid, name)
	}
	var out struct {
		Status struct {
			Execution execution `json:"execution_context"`
		} `json:"status"`
	}
	err = c.call(ctx, http.MethodDelete, "/vms/"+uuid, nil, &out)
	switch {
	case missing(err):
		c.gone.Put(uuid, struct{}{})
		return false, nil
	case provider.KindOf(classify("", err)) == provider.Conflict: // another change is in progress
		return true, nil
	case err != nil:
		return true, s.observe("delete virtual machine "+uuid, err)
	}
	c.leaving.Put(uuid, out.Status.Execution.task())
	return true, nil
}

// progress reports whether a virtual machine whose deletion was accepted remains. If its task has failed, the
// deletion is requested again by the next call.
func (s deleter) progress(ctx context.Context, c *client, uuid, name string) (remains bool, err error) {
	var t task
	if name != "" {
		err = c.call(ctx, http.MethodGet, "/tasks/"+name, nil, &t)
	}
	switch {
	case missing(err) || err == nil && name == "":
		v, err := finder(s).one(ctx, c, uuid)
		if v != nil || err != nil {
			return true, err
		}
	case err != nil:
		return true, s.observe("read the task of the deletion", err)
	case t.Status == failed || t.Status == aborted:
		c.leaving.Forget(uuid)
		return true, faultOf("delete virtual machine "+uuid, t.Code, t.Detail)
	case t.Status != succeeded:
		return true, nil
	}
	c.gone.Put(uuid, struct{}{})
	return false, nil
}
