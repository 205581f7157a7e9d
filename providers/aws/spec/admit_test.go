package spec_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider/admissiontest"
	"github.com/millwright-dev/millwright/providers/aws/spec"
)

// whole is a spec without faults and warnings.
const whole = `{"apiVersion":"machine.openshift.io/v1beta1","kind":"AWSMachineProviderConfig","ami":{"id":"ami-1"},"instanceType":"m5.large",
	"placement":{"region":"us-east-1","availabilityZone":"us-east-1a"},"subnet":{"id":"subnet-1"},"securityGroups":[{"id":"sg-1"}],
	"iamInstanceProfile":{"id":"profile"},"userDataSecret":{"name":"worker-user-data"},"credentialsSecret":{"name":"aws-cloud-credentials"}}`

const (
	reservation = `"cr-0123456789abcdef0"`
	host        = `{"placement":{"tenancy":"host","host":{"affinity":"DedicatedHost","dedicatedHost":%s}}}`
)

type row struct {
	reason, patch string
	faults        []string
}

// judge runs rows, each on the whole spec with its patch.
func judge(t *testing.T, rows []row) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			_, faults := spec.Admitter{}.Admit(admissiontest.Admission(admissiontest.Patched(t, whole, r.patch)))
			admissiontest.Same(t, r.patch, admissiontest.Words(t, faults), r.faults)
		})
	}
}

// The rows are those of section 6.3 of the notes on the original.
func TestAdmitRequired(t *testing.T) {
	judge(t, []row{
		{"the whole spec is admitted", `{}`, nil},
		{"ami.id: nil", `{"ami":{"id":null}}`, []string{"ami Required"}},
		{"ami.id: nil, with ami.arn and ami.filters", `{"ami":{"id":null,"arn":"a","filters":[]}}`, []string{"ami Required"}},
		{"ami.id: empty is not nil", `{"ami":{"id":""}}`, nil},
		{"placement.region: empty", `{"placement":{"region":""}}`, []string{"placement.region Required"}},
		{"placement: left out", `{"placement":null}`, []string{"placement.region Required"}},
		{"instanceType: empty", `{"instanceType":""}`, []string{"instanceType Required"}},
		{"userDataSecret: nil", `{"userDataSecret":null}`, []string{"userDataSecret Required"}},
		{"userDataSecret.name: empty", `{"userDataSecret":{"name":""}}`, []string{"userDataSecret.name Required"}},
		{"credentialsSecret: nil", `{"credentialsSecret":null}`, []string{"credentialsSecret Required"}},
		{"credentialsSecret.name: empty stands for the role of the node", `{"credentialsSecret":{"name":""}}`, nil},
	})
}

func TestAdmitMarket(t *testing.T) {
	refused := []string{"marketType Invalid"}
	judge(t, []row{
		{"capacityReservationId: 17 digits", `{"capacityReservationId":` + reservation + `}`, nil},
		{"capacityReservationId: 16 digits", `{"capacityReservationId":"cr-0123456789abcdef"}`, []string{"capacityReservationId Invalid"}},
		{"capacityReservationId: 18 digits", `{"capacityReservationId":"cr-0123456789abcdef01"}`, []string{"capacityReservationId Invalid"}},
		{"capacityReservationId: capital digits", `{"capacityReservationId":"cr-0123456789ABCDEF0"}`, []string{"capacityReservationId Invalid"}},
		{"capacityReservationId: prefix", `{"capacityReservationId":"0123456789abcdef0"}`, []string{"capacityReservationId Invalid"}},
		{"capacityReservationId: a line after it", `{"capacityReservationId":"cr-0123456789abcdef0\n"}`, []string{"capacityReservationId Invalid"}},
		{"marketType: empty", `{"marketType":""}`, nil},
		{"marketType: OnDemand", `{"marketType":"OnDemand"}`, nil},
		{"marketType: Spot", `{"marketType":"Spot"}`, nil},
		{"marketType: Spot with spotMarketOptions", `{"marketType":"Spot","spotMarketOptions":{}}`, nil},
		{"marketType: not one of them", `{"marketType":"spot"}`, refused},
		{"marketType: CapacityBlock with capacityReservationId", `{"marketType":"CapacityBlock","capacityReservationId":` + reservation + `}`, nil},
		{"marketType: CapacityBlock without capacityReservationId", `{"marketType":"CapacityBlock"}`, refused},
		{"marketType: CapacityBlock with spotMarketOptions", `{"marketType":"CapacityBlock","spotMarketOptions":{},"capacityReservationId":` + reservation + `}`, refused},
		{"marketType: OnDemand with spotMarketOptions", `{"marketType":"OnDemand","spotMarketOptions":{"maxPrice":"1"}}`, refused},
		{"marketType: OnDemand with capacityReservationId", `{"marketType":"OnDemand","capacityReservationId":` + reservation + `}`, nil},
		{"marketType: Spot with capacityReservationId", `{"marketType":"Spot","capacityReservationId":` + reservation + `}`, refused},
		{"spotMarketOptions: alone", `{"spotMarketOptions":{}}`, nil},
		{"capacityReservationId with spotMarketOptions and no marketType", `{"spotMarketOptions":{},"capacityReservationId":` + reservation + `}`, []string{"capacityReservationId Invalid"}},
	})
}

func TestAdmitBlockDevices(t *testing.T) {
	volume := func(text string) string {
		return `{"blockDevices":[{"deviceName":"/dev/xvda"},{"ebs":{` + text + `}}]}`
	}
	refused := []string{"blockDevices[1].ebs.throughputMib Invalid"}
	judge(t, []row{
		{"throughputMib: left out", volume(`"volumeType":"gp2"`), nil},
		{"throughputMib: gp2", volume(`"volumeType":"gp2","throughputMib":125`), refused},
		{"throughputMib: no volumeType", volume(`"throughputMib":125`), nil},
		{"throughputMib: 124", volume(`"volumeType":"gp3","throughputMib":124`), refused},
		{"throughputMib: 125", volume(`"volumeType":"gp3","throughputMib":125`), nil},
		{"throughputMib: 2000", volume(`"volumeType":"gp3","throughputMib":2000`), nil},
		{"throughputMib: 2001", volume(`"volumeType":"gp3","throughputMib":2001`), refused},
	})
}

func TestAdmitPlacement(t *testing.T) {
	on := func(text string) string { return fmt.Sprintf(host, text) }
	at := func(names ...string) (faults []string) {
		for _, name := range names {
			faults = append(faults, "spec.placement.host."+name)
		}
		return faults
	}
	dynamic := func(rest string) string { return on(`{"allocationStrategy":"Dynamic"` + rest + `}`) }
	tags := func(n int) string {
		return `,"dynamicHostAllocation":{"tags":` + admissiontest.List(n, `{"name":"a"}`) + `}`
	}
	id := at("dedicatedHost.id Invalid")
	judge(t, []row{
		{"tenancy: default", `{"placement":{"tenancy":"default"}}`, nil},
		{"tenancy: dedicated", `{"placement":{"tenancy":"dedicated"}}`, nil},
		{"tenancy: host", `{"placement":{"tenancy":"host"}}`, nil},
		{"tenancy: not one of them", `{"placement":{"tenancy":"Host"}}`, []string{"tenancy Invalid"}},
		{"host: tenancy left out", `{"placement":{"host":{"affinity":"AnyAvailable"}}}`, []string{"spec.placement.host Forbidden"}},
		{"host: tenancy default", `{"placement":{"tenancy":"default","host":{"affinity":"AnyAvailable"}}}`, []string{"spec.placement.host Forbidden"}},
		{"host: tenancy dedicated", `{"placement":{"tenancy":"dedicated","host":{}}}`, []string{"spec.placement.host Forbidden"}},
		{"host.affinity: left out", `{"placement":{"tenancy":"host","host":{}}}`, at("affinity Required")},
		{"host.affinity: AnyAvailable", `{"placement":{"tenancy":"host","host":{"affinity":"AnyAvailable"}}}`, nil},
		{"host.affinity: not one of them", `{"placement":{"tenancy":"host","host":{"affinity":"default"}}}`, at("affinity Invalid")},
		{"host.affinity: DedicatedHost requires dedicatedHost", on(`null`), at("dedicatedHost Required")},
		{"host.affinity: AnyAvailable with a host", `{"placement":{"tenancy":"host","host":{"affinity":"AnyAvailable","dedicatedHost":{"id":"h-01234567"}}}}`, nil},
		{"UserProvided is the default: id required", on(`{}`), at("dedicatedHost.id Required")},
		{"UserProvided: id required", on(`{"allocationStrategy":"UserProvided"}`), at("dedicatedHost.id Required")},
		{"UserProvided: id of 8 digits", on(`{"id":"h-0123abcd"}`), nil},
		{"UserProvided: id of 17 digits", on(`{"allocationStrategy":"UserProvided","id":"h-0123456789abcdef0"}`), nil},
		{"UserProvided: id of 7 digits", on(`{"id":"h-0123456"}`), id},
		{"UserProvided: id of 9 digits", on(`{"id":"h-012345678"}`), id},
		{"UserProvided: id of 18 digits", on(`{"id":"h-0123456789abcdef01"}`), id},
		{"UserProvided: id with capital digits", on(`{"id":"h-0123ABCD"}`), id},
		{"UserProvided: no dynamicHostAllocation", on(`{"id":"h-01234567","dynamicHostAllocation":{"tags":[{"name":"a"}]}}`), at("dedicatedHost.dynamicHostAllocation Invalid")},
		{"Dynamic", dynamic(``), nil},
		{"Dynamic: requires DedicatedHost affinity", `{"placement":{"tenancy":"host","host":{"affinity":"AnyAvailable","dedicatedHost":{"allocationStrategy":"Dynamic"}}}}`, at("affinity Forbidden")},
		{"Dynamic: no id", dynamic(`,"id":"h-01234567"`), at("dedicatedHost.id Forbidden")},
		{"Dynamic: dynamicHostAllocation without tags", dynamic(`,"dynamicHostAllocation":{}`), at("dedicatedHost.dynamicHostAllocation.tags Required")},
		{"Dynamic: 0 tags", dynamic(tags(0)), at("dedicatedHost.dynamicHostAllocation.tags Invalid")},
		{"Dynamic: 1 tag", dynamic(tags(1)), nil},
		{"Dynamic: 50 tags", dynamic(tags(50)), nil},
		{"Dynamic: 51 tags", dynamic(tags(51)), at("dedicatedHost.dynamicHostAllocation.tags Invalid")},
		{"allocationStrategy: not one of them", on(`{"allocationStrategy":"invalid"}`), at("dedicatedHost.allocationStrategy Invalid")},
		{"allocationStrategy: empty is UserProvided", on(`{"allocationStrategy":"","id":"h-01234567"}`), nil},
	})
}

func TestAdmitControlPlane(t *testing.T) {
	for _, r := range []struct {
		reason, tenancy string
		controlPlane    bool
		faults          []string
	}{
		{"tenancy host on a machine of the control plane", "host", true, []string{"spec.placement.tenancy Forbidden"}},
		{"tenancy host on a worker, or in a template", "host", false, nil},
		{"tenancy dedicated on a machine of the control plane", "dedicated", true, nil},
	} {
		t.Run(r.reason, func(t *testing.T) {
			a := admissiontest.Admission(admissiontest.Patched(t, whole, `{"placement":{"tenancy":"`+r.tenancy+`"}}`))
			a.ControlPlane = r.controlPlane
			_, faults := spec.Admitter{}.Admit(a)
			admissiontest.Same(t, r.reason, admissiontest.Words(t, faults), r.faults)
		})
	}
}

func TestAdmitOptions(t *testing.T) {
	partition := func(n int) string {
		return fmt.Sprintf(`{"placementGroupName":"g","placementGroupPartition":%d}`, n)
	}
	refused := []string{"placementGroupPartition Invalid"}
	judge(t, []row{
		{"placementGroupPartition: 0", partition(0), refused},
		{"placementGroupPartition: 1", partition(1), nil},
		{"placementGroupPartition: 7", partition(7), nil},
		{"placementGroupPartition: 8", partition(8), refused},
		{"placementGroupPartition: placementGroupName empty", `{"placementGroupPartition":1}`, refused},
		{"placementGroupName without a partition", `{"placementGroupName":"g"}`, nil},
		{"networkInterfaceType: ENA", `{"networkInterfaceType":"ENA"}`, nil},
		{"networkInterfaceType: EFA", `{"networkInterfaceType":"EFA"}`, nil},
		{"networkInterfaceType: empty", `{"networkInterfaceType":""}`, nil},
		{"networkInterfaceType: not one of them", `{"networkInterfaceType":"efa"}`, []string{"networkInterfaceType Invalid"}},
		{"metadataServiceOptions.authentication: Optional", `{"metadataServiceOptions":{"authentication":"Optional"}}`, nil},
		{"metadataServiceOptions.authentication: Required", `{"metadataServiceOptions":{"authentication":"Required"}}`, nil},
		{"metadataServiceOptions.authentication: empty", `{"metadataServiceOptions":{}}`, nil},
		{"metadataServiceOptions.authentication: not one of them", `{"metadataServiceOptions":{"authentication":"required"}}`, []string{"metadataServiceOptions.authentication Invalid"}},
		{"cpuOptions: empty object", `{"cpuOptions":{}}`, []string{"CPUOptions Invalid"}},
		{"cpuOptions: nothing that is known", `{"cpuOptions":{"cores":1}}`, []string{"CPUOptions Invalid"}},
		{"cpuOptions.confidentialCompute: Disabled", `{"cpuOptions":{"confidentialCompute":"Disabled"}}`, nil},
		{"cpuOptions.confidentialCompute: AMDEncryptedVirtualizationNestedPaging", `{"cpuOptions":{"confidentialCompute":"AMDEncryptedVirtualizationNestedPaging"}}`, nil},
		{"cpuOptions.confidentialCompute: not one of them", `{"cpuOptions":{"confidentialCompute":"Enabled"}}`, []string{"CPUOptions.ConfidentialCompute Invalid"}},
		{"cpuOptions.confidentialCompute: empty", `{"cpuOptions":{"confidentialCompute":""}}`, []string{"CPUOptions.ConfidentialCompute Invalid"}},
	})
}

func TestAdmitWarnings(t *testing.T) {
	for _, r := range []struct{ reason, patch, warning string }{
		{"the whole spec has none", `{}`, ""},
		{"ami.arn", `{"ami":{"arn":"a"}}`, "can't use providerSpec.ami.arn, only providerSpec.ami.id can be used to reference AMI"},
		{"ami.filters", `{"ami":{"filters":[{"name":"a"}]}}`, "can't use providerSpec.ami.filters, only providerSpec.ami.id can be used to reference AMI"},
		{"ami.filters that are empty", `{"ami":{"filters":[]}}`, "can't use providerSpec.ami.filters, only providerSpec.ami.id can be used to reference AMI"},
		{"no subnet", `{"subnet":null}`, "providerSpec.subnet: No subnet has been provided. Instances may be created in an unexpected subnet and may not join the cluster."},
		{"a subnet by filters", `{"subnet":{"id":null,"filters":[{"name":"a"}]}}`, ""},
		{"subnet.arn", `{"subnet":{"id":null,"arn":"a"}}`, "can't use providerSpec.subnet.arn, only providerSpec.subnet.id or providerSpec.subnet.filters can be used to reference Subnet"},
		{"no security group", `{"securityGroups":null}`, "providerSpec.securityGroups: no security group has been provided, and no instance is created without one"},
		{"no iamInstanceProfile", `{"iamInstanceProfile":null}`, "providerSpec.iamInstanceProfile: no IAM instance profile provided: nodes may be unable to join the cluster"},
		{"iamInstanceProfile.arn", `{"iamInstanceProfile":{"arn":"a"}}`, "can't use providerSpec.iamInstanceProfile.arn, only providerSpec.iamInstanceProfile.id can be used to reference IAMInstanceProfile"},
		{"iamInstanceProfile.filters", `{"iamInstanceProfile":{"filters":[]}}`, "can't use providerSpec.iamInstanceProfile.filters, only providerSpec.iamInstanceProfile.id can be used to reference IAMInstanceProfile"},
		{"tags with names of their own", `{"tags":[{"name":"a"},{"name":"A"}]}`, ""},
		{"duplicate tag names", `{"tags":[{"name":"a"},{"name":"b"},{"name":"a"}]}`, "providerSpec.tags: duplicated tag names (a): only the first value will be used."},
	} {
		t.Run(r.reason, func(t *testing.T) {
			warnings, faults := spec.Admitter{}.Admit(admissiontest.Admission(admissiontest.Patched(t, whole, r.patch)))
			if got := strings.Join(warnings, "\n"); got != r.warning {
				t.Errorf("%q, want %q", got, r.warning)
			}
			admissiontest.Same(t, "a warning refuses nothing", admissiontest.Words(t, faults), nil)
		})
	}
}

func TestDuplicateTagsAreNamedOnce(t *testing.T) {
	warnings, _ := spec.Admitter{}.Admit(admissiontest.Admission(admissiontest.Patched(t, whole, `{"tags":[{"name":"b"},{"name":"a"},{"name":"a"},{"name":"a"},{"name":"b"},{"name":"c"}]}`)))
	if len(warnings) != 1 || !strings.Contains(warnings[0], `(a,b)`) {
		t.Errorf("%q", warnings)
	}
}

// Clients of the original, and its tests, look for these texts.
func TestAdmitTexts(t *testing.T) {
	for patch, want := range map[string]string{
		`{"ami":null}`:                                             `providerSpec.ami: Required value: expected providerSpec.ami.id to be populated`,
		`{"placement":{"region":null}}`:                            `providerSpec.placement.region: Required value: expected providerSpec.placement.region to be populated`,
		`{"instanceType":null}`:                                    `providerSpec.instanceType: Required value: expected providerSpec.instanceType to be populated`,
		`{"userDataSecret":null}`:                                  `providerSpec.userDataSecret: Required value: expected providerSpec.userDataSecret to be populated`,
		`{"userDataSecret":{"name":""}}`:                           `providerSpec.userDataSecret.name: Required value: expected providerSpec.userDataSecret.name to be provided`,
		`{"credentialsSecret":null}`:                               `providerSpec.credentialsSecret: Required value: expected providerSpec.credentialsSecret to be populated`,
		`{"metadataServiceOptions":{"authentication":"fooobaar"}}`: `providerSpec.metadataServiceOptions.authentication: Invalid value: "fooobaar": Allowed values are either 'Optional' or 'Required'`,
		`{"capacityReservationId":"fooobaar"}`:                     `providerSpec.capacityReservationId: Invalid value: "fooobaar": invalid value for capacityReservationId: "fooobaar", it must start with 'cr-' and be exactly 20 characters long with 17 hexadecimal characters`,
		`{"capacityReservationId":"cr-0123456789abcdef0","spotMarketOptions":{}}`: `providerSpec.capacityReservationId: Invalid value: "cr-0123456789abcdef0": spotMarketOptions and capacityReservationID may not be used together`,
		`{"marketType":"invalid"}`: `providerSpec.marketType: Invalid value: "invalid": invalid marketType: invalid valid values are: OnDemand, Spot, CapacityBlock and omitted`,
		`{"marketType":"Spot","capacityReservationId":"cr-0123456789abcdef0"}`:                                                                                      `providerSpec.marketType: Invalid value: "Spot": invalid marketType: marketType set to Spot and capacityReservationID may not be used together`,
		`{"marketType":"CapacityBlock","spotMarketOptions":{}}`:                                                                                                     `providerSpec.marketType: Invalid value: "CapacityBlock": invalid marketType: marketType set to CapacityBlock and spotMarketOptions cannot be used together`,
		`{"marketType":"OnDemand","spotMarketOptions":{}}`:                                                                                                          `providerSpec.marketType: Invalid value: "OnDemand": invalid marketType: setting marketType to OnDemand and spotMarketOptions cannot be used together`,
		`{"marketType":"CapacityBlock"}`:                                                                                                                            `providerSpec.marketType: Invalid value: "CapacityBlock": capacityReservationID is required when CapacityBlock is provided`,
		`{"blockDevices":[{"ebs":{"volumeType":"io1","throughputMib":200}}]}`:                                                                                       `providerSpec.blockDevices[0].ebs.throughputMib: Invalid value: 200: only valid for gp3 volumes`,
		`{"blockDevices":[{"ebs":{"volumeType":"gp3","throughputMib":100}}]}`:                                                                                       `providerSpec.blockDevices[0].ebs.throughputMib: Invalid value: 100: must be a value between 125 and 2000`,
		`{"placement":{"tenancy":"invalid"}}`:                                                                                                                       `providerSpec.tenancy: Invalid value: "invalid": Invalid providerSpec.tenancy, the only allowed options are: default, dedicated, host, or omitted`,
		`{"placement":{"tenancy":"dedicated","host":{}}}`:                                                                                                           `spec.placement.host: Forbidden: host may only be specified when tenancy is 'host'`,
		`{"placement":{"tenancy":"host","host":{"affinity":"invalid"}}}`:                                                                                            `spec.placement.host.affinity: Invalid value: "invalid": hostAffinity must be either AnyAvailable or DedicatedHost`,
		`{"placement":{"tenancy":"host","host":{"affinity":"AnyAvailable","dedicatedHost":{"allocationStrategy":"Dynamic"}}}}`:                                      `spec.placement.host.affinity: Forbidden: hostAffinity must be DedicatedHost when using dynamic host allocation`,
		`{"placement":{"tenancy":"host","host":{"affinity":"DedicatedHost","dedicatedHost":{}}}}`:                                                                   `spec.placement.host.dedicatedHost.id: Required value: id is required when allocationStrategy is UserProvided and must start with 'h-' followed by 8 or 17 lowercase hexadecimal characters (0-9 and a-f)`,
		`{"placement":{"tenancy":"host","host":{"affinity":"DedicatedHost","dedicatedHost":{"id":"invalid"}}}}`:                                                     `spec.placement.host.dedicatedHost.id: Invalid value: "invalid": id must start with 'h-' followed by 8 or 17 lowercase hexadecimal characters (0-9 and a-f)`,
		`{"placement":{"tenancy":"host","host":{"affinity":"DedicatedHost","dedicatedHost":{"id":"h-01234567","dynamicHostAllocation":{"tags":[{"name":"a"}]}}}}}`:  `spec.placement.host.dedicatedHost.dynamicHostAllocation: Invalid value: "h-01234567": dynamicHostAllocation is only allowed when allocationStrategy is Dynamic`,
		`{"placement":{"tenancy":"host","host":{"affinity":"DedicatedHost","dedicatedHost":{"id":"h-01234567","allocationStrategy":"invalid"}}}}`:                   `spec.placement.host.dedicatedHost.allocationStrategy: Invalid value: "invalid": Invalid allocationStrategy, the only allowed options are: UserProvided, Dynamic`,
		`{"placement":{"tenancy":"host","host":{"affinity":"DedicatedHost","dedicatedHost":{"id":"h-01234567","allocationStrategy":"Dynamic"}}}}`:                   `spec.placement.host.dedicatedHost.id: Forbidden: id is only allowed when allocationStrategy is Provided`,
		`{"placement":{"tenancy":"host","host":{"affinity":"DedicatedHost","dedicatedHost":{"allocationStrategy":"Dynamic","dynamicHostAllocation":{}}}}}`:          `spec.placement.host.dedicatedHost.dynamicHostAllocation.tags: Required value: at least one property must be specified in dynamicHostAllocation`,
		`{"placement":{"tenancy":"host","host":{"affinity":"DedicatedHost","dedicatedHost":{"allocationStrategy":"Dynamic","dynamicHostAllocation":{"tags":[]}}}}}`: `spec.placement.host.dedicatedHost.dynamicHostAllocation.tags: Invalid value: 0: at least 1 tag must be specified`,
		`{"placementGroupName":"g","placementGroupPartition":8}`:                                                                                                    `providerSpec.placementGroupPartition: Invalid value: 8: providerSpec.placementGroupPartition must be between 1 and 7`,
		`{"placementGroupPartition":2}`:             `providerSpec.placementGroupPartition: Invalid value: 2: providerSpec.placementGroupPartition is set but providerSpec.placementGroupName is empty`,
		`{"networkInterfaceType":"efa"}`:            `providerSpec.networkInterfaceType: Invalid value: "efa": Valid values are: ENA, EFA and omitted`,
		`{"cpuOptions":{}}`:                         `providerSpec.CPUOptions: Invalid value: "{}": At least one field must be set if cpuOptions is provided`,
		`{"cpuOptions":{"confidentialCompute":""}}`: `providerSpec.CPUOptions.ConfidentialCompute: Invalid value: "": Allowed values are Disabled, AMDEncryptedVirtualizationNestedPaging and omitted`,
	} {
		t.Run(patch, func(t *testing.T) {
			_, faults := spec.Admitter{}.Admit(admissiontest.Admission(admissiontest.Patched(t, whole, patch)))
			if len(faults) != 1 || faults[0].Error() != want {
				t.Errorf("%s is %v, want %s", patch, faults, want)
			}
		})
	}
}

func TestAdmitWhatCannotBeDecoded(t *testing.T) {
	for _, raw := range []string{`[]`, `"x"`, `{`, `{"ami":[]}`, `{"placement":"us-east-1a"}`, `{"deviceIndex":"one"}`, `{"ami":` + strings.Repeat("[", 20000)} {
		t.Run(raw, func(t *testing.T) {
			warnings, faults := spec.Admitter{}.Admit(admissiontest.Admission([]byte(raw)))
			if len(warnings) != 0 || len(faults) != 1 || faults[0].Field != "providerSpec" || faults[0].Type != field.ErrorTypeInvalid {
				t.Errorf("%.50s: %q, %v", raw, warnings, faults)
			}
		})
	}
}

// The original reads specs as YAML, and providers have created machines from them.
func TestAdmitReadsTolerantly(t *testing.T) {
	judge(t, []row{
		{"numbers and booleans for texts", `{"instanceType":5,"tags":[{"name":"owner","value":123},{"name":"a","value":true}],"spotMarketOptions":{"maxPrice":0.5}}`, nil},
		{"a name in another case", `{"instanceType":null,"instancetype":"m5.large","AMI":{"ID":"ami-1"},"ami":null}`, nil},
		{"a whole number with a point", `{"deviceIndex":1.0}`, nil},
		{"unknown fields", `{"shape":[{}],"placement":{"rack":1}}`, nil},
	})
}

// A list of a million wrong entries gets a limited number of faults.
func TestFaultsAreBounded(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	_, faults := spec.Admitter{}.Admit(admissiontest.Admission(admissiontest.Patched(t, whole, `{"marketType":"`+long+`","capacityReservationId":"`+long+`","blockDevices":`+admissiontest.List(10000, `{"ebs":{"throughputMib":1}}`)+`}`)))
	if text := faults.ToAggregate().Error(); len(text) > 10000 {
		t.Errorf("%d bytes in %d faults", len(text), len(faults))
	}
}
