package cloud

import (
	"context"
	"net/http"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// Create implements [provider.Session].
func (s *session) Create(ctx context.Context, ref provider.Ref, want provider.Want) (provider.Instance, error) {
	if s.plan == nil {
		return provider.Instance{}, provider.Errorf(provider.Invalid, "the class has no spec to create a virtual machine from")
	}
	if err := s.accepts(want.Choice); err != nil {
		return provider.Instance{}, err
	}
	c, err := s.client(ctx)
	if err != nil {
		return provider.Instance{}, err
	}
	if !(finder{s}).wasAbsent(c, ref) {
		found, err := finder{s}.find(ctx, c, ref)
		if err != nil {
			return provider.Instance{}, err
		}
		if existing := provider.Existing(found); len(existing) > 0 {
			return existing[0], nil
		}
		if made, ok := c.created.Recall(s.token(ref)); ok && made.failed && len(found) > 0 {
			if made.attempt == want.Attempt {
				return found[0], nil // it failed: this attempt creates no other
			}
			if err := s.release(ctx, c, ref); err != nil {
				return provider.Instance{}, err
			}
		}
	}
	c.absent.Forget(s.token(ref))
	return creator{s}.create(ctx, c, ref, want)
}

// creation is a request for a virtual machine that this process has sent, and Prism Central has accepted.
type creation struct {
	task    string
	attempt int
	at      time.Time
	// instance is the requested instance. If the task has failed, it is Terminated, with the fault.
	instance provider.Instance
	failed   bool
}

// create creates the virtual machine under the reserved UUID.
func (s creator) create(ctx context.Context, c *client, ref provider.Ref, want provider.Want) (none provider.Instance, err error) {
	in, err := s.request(ctx, c, ref, want)
	if err != nil {
		return none, err
	}
	uuid, err := s.reserve(ctx, c, ref)
	if err != nil {
		return none, err
	}
	in.Metadata.UUID, in.Spec.Description = uuid, described("", ownership(s).identity(ref, uuid, want.Role))
	var out vm
	err = c.call(ctx, http.MethodPost, "/vms", in, &out)
	if provider.KindOf(classify("", err)) == provider.Conflict {
		return s.used(ctx, c, ref, uuid, err)
	}
	if err != nil {
		return none, s.observe("create a virtual machine", err)
	}
	if out.Metadata.UUID == "" {
		return none, provider.Errorf(provider.Transient, "Prism Central accepted the creation, and its answer names no virtual machine")
	}
	made := creation{task: out.Status.Execution.task(), attempt: want.Attempt, at: s.now(), instance: s.requested(ref, in, out.Metadata.UUID)}
	c.created.Put(s.token(ref), made)
	return made.instance, nil
}

// used returns the virtual machine of the reserved UUID, which an earlier request has used. If it does not
// exist, that request has failed: the UUID is released, and the next request gets another.
func (s creator) used(ctx context.Context, c *client, ref provider.Ref, uuid string, why error) (none provider.Instance, err error) {
	v, err := finder(s).one(ctx, c, uuid)
	if err != nil {
		return none, err
	}
	if v != nil {
		return finder(s).toInstance(ctx, c, v), nil
	}
	if err := s.release(ctx, c, ref); err != nil {
		return none, err
	}
	return none, s.observe("create a virtual machine", why)
}

// requested describes a new virtual machine by its request. The answer has nothing else.
func (s creator) requested(ref provider.Ref, in *intent, uuid string) provider.Instance {
	v := &vm{}
	v.Metadata.UUID, v.Metadata.Categories, v.Metadata.Created = uuid, in.Metadata.Categories, s.now().Truncate(time.Second)
	v.Spec.Name, v.Spec.Description = ref.Name, in.Spec.Description
	v.Status.State = pending
	r := &v.Status.Resources
	r.Sockets, r.VCPUsPerSocket, r.MemoryMiB, r.Hypervisor = in.Spec.Resources.Sockets, in.Spec.Resources.VCPUsPerSocket, in.Spec.Resources.MemoryMiB, ahv
	return finder(s).described(v)
}

// ahv is the hypervisor of Nutanix.
const ahv = "AHV"

// outcome reports on a creation of this process whose virtual machine does not exist: it may exist soon, or
// its task has failed.
func (s creator) outcome(ctx context.Context, c *client, ref provider.Ref) (i provider.Instance, ok bool, err error) {
	made, known := c.created.Recall(s.token(ref))
	if !known || made.failed {
		return made.instance, known, nil
	}
	if made.task == "" {
		return made.instance, s.now().Sub(made.at) < readLag, nil
	}
	var t task
	err = c.call(ctx, http.MethodGet, "/tasks/"+made.task, nil, &t)
	switch {
	case missing(err), err == nil && t.Status == succeeded:
		if s.now().Sub(made.at) < readLag {
			return made.instance, true, nil
		}
		c.created.Forget(s.token(ref)) // it was deleted since
		return i, false, nil
	case err != nil:
		return i, false, s.observe("read the task of the creation", err)
	case t.Status == failed || t.Status == aborted:
		made.failed = true
		made.instance.State, made.instance.RawState, made.instance.Fault = provider.Terminated, t.Status, faultOf("create a virtual machine", t.Code, t.Detail)
		c.created.Put(s.token(ref), made)
	}
	return made.instance, true, nil
}
