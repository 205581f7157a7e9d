// Package e2e tells black-box stories: whole programs against a real control
// plane, judged by what users and the infrastructure see.
package e2e
