package spec

import (
	"fmt"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider/lenient"
)

// warningsOf are about what is accepted and has no effect, or one that is rarely meant.
func warningsOf(s *config, at *field.Path) (warnings []string) {
	warn := func(when bool, path *field.Path, why string) {
		if when {
			warnings = append(warnings, path.String()+": "+why)
		}
	}
	ami := at.Child("ami")
	warn(s.AMI.ARN != nil, ami.Child("arn"), "it is not used: an AMI is found by its id")
	warn(s.AMI.Filters != nil, ami.Child("filters"), "they are not used: an AMI is found by its id")

	subnet := at.Child("subnet")
	warn(s.Subnet.ID == nil && s.Subnet.ARN == nil && s.Subnet.Filters == nil, subnet,
		"none is given: AWS chooses one, from which the instance may not reach the cluster")
	warn(s.Subnet.ARN != nil, subnet.Child("arn"), "it is not used: a subnet is found by its id or by filters")
	warn(len(s.SecurityGroups) == 0, at.Child("securityGroups"), "none is given: no instance is made without one")

	profile := at.Child("iamInstanceProfile")
	if s.IAMInstanceProfile == nil {
		warn(true, profile, "none is given: the node may not be able to join the cluster")
	} else {
		warn(s.IAMInstanceProfile.ARN != nil, profile.Child("arn"), "it is not used: a profile is found by its id")
		warn(s.IAMInstanceProfile.Filters != nil, profile.Child("filters"), "they are not used: a profile is found by its id")
	}

	names := strings.Join(doubled(s.Tags), ", ")
	warn(names != "", at.Child("tags"), fmt.Sprintf("of each name the first value is used: more than one is given of %s", lenient.Shown(names)))
	return warnings
}

// doubled are the names that more than one tag has, in the order in which that shows.
func doubled(tags []machinev1beta1.TagSpecification) (names []string) {
	seen := map[string]int{}
	for _, tag := range tags {
		if seen[tag.Name]++; seen[tag.Name] == 2 {
			names = append(names, fmt.Sprintf("%q", tag.Name))
		}
	}
	return names
}
