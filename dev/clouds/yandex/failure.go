package yandex

import (
	"fmt"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// tooManyOperations is the text for too many operations in progress.
const tooManyOperations = "The limit on maximum number of active operations has exceeded."

// noCapacity is the error for a zone without capacity. The real text is not known.
func noCapacity() error {
	return status.Error(codes.ResourceExhausted, "There are not enough resources in the zone to start the instance")
}

func denied() error { return status.Error(codes.PermissionDenied, "Permission denied") }

// invalid is the error for a field of a request.
func invalid(field, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	return detailed(status.New(codes.InvalidArgument, "Request validation error: "+field+": "+text),
		&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: field, Description: text}}}).Err()
}

func detailed(st *status.Status, detail protoadapt.MessageV1) *status.Status {
	if with, err := st.WithDetails(detail); err == nil {
		return with
	}
	return st
}

// exhaustions are the errors for exhausted resources, by scope. Yandex Cloud has none for a whole zone.
var exhaustions = map[string]error{
	"": noCapacity(), "type": noCapacity(), "zone": noCapacity(),
	"account": status.Error(codes.ResourceExhausted, "Quota limit compute.instanceCores.count exceeded"),
}

// worded is Yandex Cloud's error for a failure.
func worded(f double.Failure) *status.Status {
	switch f.Kind {
	case "Throttled":
		st := status.New(codes.ResourceExhausted, tooManyOperations)
		if f.After > 0 {
			st = detailed(st, &errdetails.RetryInfo{RetryDelay: durationpb.New(f.After)})
		}
		return st
	case "Exhausted":
		return status.Convert(exhaustions[f.Scope])
	case "Invalid":
		return status.Convert(invalid("resources_spec", "the specified resources are not available"))
	case "Denied":
		return status.Convert(denied())
	case "Conflict":
		return status.New(codes.Aborted, "The operation was aborted by a concurrent operation")
	}
	return status.New(codes.Unavailable, "Service unavailable")
}
