package gardener

import (
	"context"
	"reflect"

	"github.com/gardener/machine-controller-manager/pkg/util/provider/driver"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/codes"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/status"
	corev1 "k8s.io/api/core/v1"
)

// Driver is the part of the original's interface that all versions since v0.49.0 have. InitializeMachine was
// added in v0.53.0: it is called if a driver has it. Addresses in responses were added in v0.60.0, and are
// used if present. So this package builds with the version that a driver was written against.
type Driver interface {
	CreateMachine(context.Context, *driver.CreateMachineRequest) (*driver.CreateMachineResponse, error)
	DeleteMachine(context.Context, *driver.DeleteMachineRequest) (*driver.DeleteMachineResponse, error)
	GetMachineStatus(context.Context, *driver.GetMachineStatusRequest) (*driver.GetMachineStatusResponse, error)
	ListMachines(context.Context, *driver.ListMachinesRequest) (*driver.ListMachinesResponse, error)
	GetVolumeIDs(context.Context, *driver.GetVolumeIDsRequest) (*driver.GetVolumeIDsResponse, error)
}

// uninitialized is codes.Uninitialized, which versions before v0.53.0 lack.
const uninitialized codes.Code = 17

// initialized is the result of InitializeMachine.
type initialized struct {
	nodeName  string
	addresses []corev1.NodeAddress
}

// initialize calls the driver's InitializeMachine. It looks the method up at run time, since older versions
// of the original lack its types. A driver without the method returns Unimplemented.
func initialize(ctx context.Context, d Driver, sub subject) (*initialized, error) {
	call := reflect.ValueOf(d).MethodByName("InitializeMachine")
	request, ok := requestOf(call, sub)
	if !ok {
		return nil, status.Error(codes.Unimplemented, "the driver has no InitializeMachine")
	}
	out := call.Call([]reflect.Value{reflect.ValueOf(ctx), request})
	err, _ := out[1].Interface().(error)
	if out[0].IsNil() {
		return nil, err
	}
	node, _ := out[0].Elem().FieldByName("NodeName").Interface().(string)
	return &initialized{nodeName: node, addresses: addressesOf(out[0].Interface())}, err
}

// requestOf is the request of an InitializeMachine call; false if the method does not exist or has another
// signature.
func requestOf(call reflect.Value, sub subject) (reflect.Value, bool) {
	if !call.IsValid() {
		return reflect.Value{}, false
	}
	t := call.Type()
	if t.NumIn() != 2 || t.NumOut() != 2 || t.In(1).Kind() != reflect.Pointer || t.Out(0).Kind() != reflect.Pointer || t.In(0) != reflect.TypeFor[context.Context]() {
		return reflect.Value{}, false
	}
	request := reflect.New(t.In(1).Elem())
	for name, value := range map[string]any{"Machine": sub.machine, "MachineClass": sub.class, "Secret": sub.secret} {
		field := request.Elem().FieldByName(name)
		if !field.IsValid() || field.Type() != reflect.TypeOf(value) {
			return reflect.Value{}, false
		}
		field.Set(reflect.ValueOf(value))
	}
	return request, true
}

// addressesOf are the addresses in a driver's response; none if its type has no such field.
func addressesOf(answer any) []corev1.NodeAddress {
	field := reflect.Indirect(reflect.ValueOf(answer)).FieldByName("Addresses")
	if !field.IsValid() {
		return nil
	}
	all, _ := field.Interface().([]corev1.NodeAddress)
	return append([]corev1.NodeAddress(nil), all...)
}
