package yandex

import (
	"context"
	"time"

	"github.com/yandex-cloud/go-genproto/yandex/cloud/compute/v1"
	"github.com/yandex-cloud/go-genproto/yandex/cloud/operation"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// pendingOperation is an operation on an instance. It ends at a time, or with an error.
type pendingOperation struct {
	id, description, instance, folder string
	about                             proto.Message // its metadata
	from, until                       time.Time
	failure                           *status.Status
}

func (o *pendingOperation) done(now time.Time) bool { return o.failure != nil || !now.Before(o.until) }

// begin begins an operation that takes a time; the caller holds the lock. A key is remembered with it.
func (s *store) begin(in call, i instance, description string, took time.Duration, about proto.Message) *pendingOperation {
	now := s.clock.Now()
	o := &pendingOperation{
		id: newID("fhm"), description: description, instance: i.ID, folder: i.Request.GetFolderId(), about: about, from: now, until: now.Add(took),
	}
	s.operations[o.id] = o
	if in.key != "" {
		s.keys[in.caller.ID+" "+in.key] = o.id
	}
	return o
}

// known is the operation of a request with a known key; nil if the key is unknown. The caller holds the lock.
func (s *store) known(in call) *pendingOperation {
	if in.key == "" {
		return nil
	}
	return s.operations[s.keys[in.caller.ID+" "+in.key]]
}

// progress is an error if the folder has too many operations in progress. The caller holds the lock.
func (s *store) progress(folder string) error {
	most, n := s.options.Inventory.Quotas.Operations, 0
	for _, o := range s.operations {
		if o.folder == folder && !o.done(s.clock.Now()) {
			n++
		}
	}
	if most > 0 && n >= most {
		return status.Error(codes.ResourceExhausted, tooManyOperations)
	}
	return nil
}

// shown is an operation in an answer. The caller holds the lock.
func (s *store) shownOperation(o *pendingOperation) (*operation.Operation, error) {
	about, err := anypb.New(o.about)
	if err != nil {
		return nil, err
	}
	now := s.clock.Now()
	out := &operation.Operation{
		Id: o.id, Description: o.description, CreatedAt: timestamppb.New(o.from), ModifiedAt: timestamppb.New(now), Metadata: about, Done: o.done(now),
	}
	switch {
	case o.failure != nil:
		out.Result = &operation.Operation_Error{Error: o.failure.Proto()}
	case out.Done:
		response := proto.Message(&emptypb.Empty{})
		if i, ok := s.instances.Get(o.instance); ok {
			response = i.shown(s.state(i))
		}
		packed, err := anypb.New(response)
		if err != nil {
			return nil, err
		}
		out.Result = &operation.Operation_Response{Response: packed}
	}
	return out, nil
}

// Get implements the service of operations.
func (s operationService) Get(ctx context.Context, in *operation.GetOperationRequest) (*operation.Operation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.operations[in.GetOperationId()]
	if o == nil {
		return nil, status.Errorf(codes.NotFound, "Operation %s not found", in.GetOperationId())
	}
	if err := s.inFolder(callOf(ctx), o.folder); err != nil {
		return nil, err
	}
	return s.shownOperation(o)
}

// repeated answers a request with a known key; done is false for other requests. The caller holds the lock.
func (s *store) repeated(in call) (op *operation.Operation, done bool, err error) {
	o := s.known(in)
	if o == nil {
		return nil, false, nil
	}
	op, err = s.shownOperation(o)
	return op, true, err
}

// change changes an instance that is in one of the states, in an operation.
func (s instanceService) change(ctx context.Context, id, description string, about proto.Message, states []compute.Instance_Status, do func(i instance) (time.Duration, error)) (*operation.Operation, error) {
	in := callOf(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if op, done, err := s.repeated(in); done {
		return op, err
	}
	i, err := s.theirs(in, id)
	if err != nil {
		return nil, err
	}
	if err := s.progress(i.Request.GetFolderId()); err != nil {
		return nil, err
	}
	allowed := false
	for _, state := range states {
		allowed = allowed || s.state(i) == state
	}
	if !allowed {
		return nil, status.Errorf(codes.FailedPrecondition, "Instance %s is in state %s, which does not allow this operation", id, s.state(i))
	}
	took, err := do(i)
	if err != nil {
		return nil, err
	}
	return s.shownOperation(s.begin(in, i, description, took, about))
}

// theirs is an instance of the caller's folder. The caller holds the lock.
func (s *store) theirs(in call, id string) (instance, error) {
	i, ok := s.existing(id)
	if !ok {
		return i, status.Errorf(codes.NotFound, "Instance %s not found", id)
	}
	return i, s.inFolder(in, i.Request.GetFolderId())
}
