package cloud

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"time"
	"unicode/utf8"

	"github.com/yandex-cloud/go-genproto/yandex/cloud/compute/v1"
	"github.com/yandex-cloud/go-genproto/yandex/cloud/operation"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millwright-dev/millwright/provider"
)

// userDataKey is the key of the user data in the metadata of an instance.
const userDataKey = "user-data"

// mostUserData is the limit of a value of the metadata in bytes.
const mostUserData = 256 << 10

// Create implements [provider.Session].
func (s *session) Create(ctx context.Context, ref provider.Ref, want provider.Want) (provider.Instance, error) {
	if s.plan == nil {
		return provider.Instance{}, provider.Errorf(provider.Invalid, "the class has no spec to create an instance from")
	}
	if err := s.plan.accepts(want.Choice); err != nil {
		return provider.Instance{}, err
	}
	if err := acceptable(want.UserData); err != nil {
		return provider.Instance{}, err
	}
	c, err := s.client(ctx)
	if err != nil {
		return provider.Instance{}, err
	}
	v, err := finder{s}.find(ctx, c, ref)
	if err != nil {
		return provider.Instance{}, err
	}
	if existing := provider.Existing(v.instances); len(existing) > 0 {
		return existing[0], nil
	}
	if made, ok := c.created.Recall(s.machineToken(ref)); ok && made.failed && made.attempt == want.Attempt && len(v.instances) > 0 {
		return v.instances[0], nil // it failed: this attempt creates no other
	}
	return creator{s}.create(ctx, c, ref, want, v.taken)
}

func acceptable(userData []byte) error {
	switch n := len(userData); {
	case n > mostUserData:
		return provider.Errorf(provider.Invalid, "the user data has %d bytes, and Compute Cloud accepts %d at most: let it fetch the rest from elsewhere", n, mostUserData)
	case !utf8.Valid(userData):
		return provider.Errorf(provider.Invalid, "the user data is no UTF-8 text, as the metadata of Compute Cloud requires")
	}
	return nil
}

// creation is a request for an instance that this process has sent, and Compute Cloud has accepted.
type creation struct {
	operation string
	attempt   int
	at        time.Time
	// instance is the requested instance. If the operation has failed, it is Terminated, with the fault.
	instance provider.Instance
	failed   bool
}

func (s creator) create(ctx context.Context, c *client, ref provider.Ref, want provider.Want, taken map[string]bool) (provider.Instance, error) {
	in, err := s.request(ref, want, taken)
	if err != nil {
		return provider.Instance{}, err
	}
	in.FolderId = c.folder
	if err := s.assignAddresses(ctx, c, ref, in); err != nil {
		return provider.Instance{}, err
	}
	op, err := c.instances.Create(once(ctx, s.requestKey(c, ref, want.Attempt)), in)
	if err != nil {
		return provider.Instance{}, s.refused(err)
	}
	return s.accepted(ctx, c, ref, want, in, op)
}

// request is the request for ref's instance, without the folder and reserved addresses.
func (s creator) request(ref provider.Ref, want provider.Want, taken map[string]bool) (*compute.CreateInstanceRequest, error) {
	name, err := ownership(s).instanceName(ref, taken)
	if err != nil {
		return nil, err
	}
	in := s.plan.request()
	in.Name, in.Hostname, in.Labels = name, name, ownership(s).labelsOf(ref, name, want.Role)
	if n := len(in.Labels); n > mostLabels {
		return nil, provider.InvalidField("labels", "with those of the machine there are %d, and Compute Cloud accepts %d", n, mostLabels)
	}
	maps.Copy(in.Metadata, s.plan.Metadata)
	delete(in.Metadata, userDataKey)
	if len(want.UserData) > 0 {
		in.Metadata[userDataKey] = string(want.UserData)
	}
	return in, nil
}

func (s *session) machineToken(ref provider.Ref) string { return ref.Token(s.class.Cluster) }

// requestKey is the idempotency key of a request for ref's instance. Compute Cloud answers a request with a
// known key by the operation of the first request with it, also if that has failed: each attempt has another
// key, and so has a request after a failed operation. Losing the number of failed operations costs requests
// that return their errors again.
func (s creator) requestKey(c *client, ref provider.Ref, attempt int) string {
	token := s.machineToken(ref)
	failed, _ := c.failed.Recall(token)
	if attempt == 0 && failed == 0 {
		return uuid(token)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d/%d", token, attempt, failed))
	return uuid(hex.EncodeToString(sum[:]))
}

// refused is the error of a refused request. A resource that does not exist is a fault of the spec.
func (s creator) refused(err error) error {
	if missing := missingResource(err); missing != nil {
		return missing
	}
	return s.observe("create an instance", err)
}

// accepted reads the operation of an accepted request, which may be that of an earlier request.
func (s creator) accepted(ctx context.Context, c *client, ref provider.Ref, want provider.Want, in *compute.CreateInstanceRequest, op *operation.Operation) (none provider.Instance, err error) {
	var about compute.CreateInstanceMetadata
	if op.GetMetadata() == nil || op.GetMetadata().UnmarshalTo(&about) != nil || about.GetInstanceId() == "" {
		return none, provider.Errorf(provider.Transient, "the operation %s creates an instance, and does not name the instance", op.GetId())
	}
	if op.GetDone() {
		if op.GetError() != nil {
			s.countFailure(c, ref)
			return none, s.refused(status.ErrorProto(op.GetError()))
		}
		i, err := finder(s).one(ctx, c, about.GetInstanceId())
		if err == nil && i == nil {
			err = provider.Errorf(provider.Transient, "instance %s that was created for the machine is not visible yet, or does not exist any more", about.GetInstanceId())
		}
		if err != nil {
			return none, err
		}
		return finder(s).toInstance(c, i), nil
	}
	made := creation{operation: op.GetId(), attempt: want.Attempt, at: s.now(), instance: s.requested(ref, in, about.GetInstanceId())}
	c.created.Put(s.machineToken(ref), made)
	return made.instance, nil
}

func (s creator) countFailure(c *client, ref provider.Ref) {
	token := s.machineToken(ref)
	failed, _ := c.failed.Recall(token)
	c.failed.Put(token, failed+1)
	c.created.Forget(token)
}

// requested describes a new instance by its request.
func (s creator) requested(ref provider.Ref, in *compute.CreateInstanceRequest, id string) provider.Instance {
	return provider.Instance{
		ID: id, UID: ref.UID, Name: ref.Name, Owner: in.Labels[ownerLabel], Namespace: in.Labels[namespaceLabel], ProviderID: providerID(in.ZoneId, id), NodeName: in.Hostname,
		State: provider.Pending, RawState: compute.Instance_PROVISIONING.String(), Type: s.plan.typeName(), Region: s.plan.Region(), Zone: in.ZoneId,
		Interruptible: s.plan.SchedulingPolicy.Preemptible, Created: s.now(), Tags: in.Labels,
	}
}

// readLag is a precaution: Yandex Cloud does not document how soon listings show an accepted request.
const readLag = 10 * time.Second

// pending is the instance of ref that this process has requested, while no listing shows it; ok is false if
// this process has requested no instance, or the instance no longer exists. A failed instance is never
// visible. Another process learns of the failure by repeating the request.
func (s creator) pending(ctx context.Context, c *client, ref provider.Ref) (i provider.Instance, ok bool, err error) {
	token := s.machineToken(ref)
	made, known := c.created.Recall(token)
	if !known || made.failed {
		return made.instance, known, nil
	}
	op, err := c.operations.Get(ctx, &operation.GetOperationRequest{OperationId: made.operation})
	switch {
	case status.Code(err) == codes.NotFound:
		c.created.Forget(token)
		return provider.Instance{}, false, nil
	case err != nil:
		return provider.Instance{}, false, s.observe("read operation "+made.operation, err)
	case !op.GetDone(), op.GetError() == nil && s.now().Before(made.at.Add(readLag)):
		return made.instance, true, nil
	case op.GetError() == nil:
		c.created.Forget(token)
		return provider.Instance{}, false, nil
	}
	fault := faultOf(s.refused(status.ErrorProto(op.GetError())))
	s.countFailure(c, ref)
	switch fault.Kind {
	case provider.Transient, provider.Throttled, provider.Conflict: // another request may succeed
		return provider.Instance{}, false, nil
	}
	made.failed, made.instance.Fault, made.instance.State, made.instance.RawState = true, fault, provider.Terminated, "FAILED"
	c.created.Put(token, made)
	return made.instance, true, nil
}
