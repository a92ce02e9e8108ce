// Judges pods with Kubernetes' own code: its admission policies, and what its scheduler's filters call.
//
//	judge < questions.json > answers.json
//
// Every object is decoded strictly: an unknown field ends the program.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/component-helpers/resource"
	scheduling "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

type questions struct {
	Objects []json.RawMessage // namespaces, policies and their bindings
	Reviews []struct {
		Namespace string
		Pod       json.RawMessage
	}
	Placements []struct{ Pod, Node json.RawMessage }
}

type placement struct {
	Requests  core.ResourceList `json:"requests"`
	Selected  bool              `json:"selected"`
	Untolerated string          `json:"untolerated"`
}

type answers struct {
	Refusals   []string    `json:"refusals"` // for each review the refusal's message, empty for an admitted pod
	Placements []placement `json:"placements"`
}

func main() {
	if err := answer(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func answer(in io.Reader, out io.Writer) error {
	asked, answered := questions{}, answers{Refusals: []string{}, Placements: []placement{}}
	if err := json.NewDecoder(in).Decode(&asked); err != nil {
		return err
	}
	objects := []runtime.Object{}
	for _, text := range asked.Objects {
		object, err := decode(text)
		if err != nil {
			return err
		}
		objects = append(objects, object)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	policies, err := newPolicies(ctx, objects)
	if err != nil {
		return err
	}
	for _, review := range asked.Reviews {
		object, err := decode(review.Pod)
		if err != nil {
			return err
		}
		pod := object.(*core.Pod)
		pod.Namespace = review.Namespace
		answered.Refusals = append(answered.Refusals, refusal(ctx, policies, pod))
	}
	for _, each := range asked.Placements {
		pod, err := decode(each.Pod)
		if err != nil {
			return err
		}
		node, err := decode(each.Node)
		if err != nil {
			return err
		}
		placed, err := place(ctx, pod.(*core.Pod), node.(*core.Node))
		if err != nil {
			return err
		}
		answered.Placements = append(answered.Placements, placed)
	}
	return json.NewEncoder(out).Encode(answered)
}

func decode(text json.RawMessage) (runtime.Object, error) {
	strict := serializer.NewSerializerWithOptions(
		serializer.DefaultMetaFactory, scheme.Scheme, scheme.Scheme, serializer.SerializerOptions{Strict: true})
	object, _, err := strict.Decode(text, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("%w in %.300s", err, text)
	}
	setDefaults(object)
	return object, nil
}

// setDefaults sets the fields left out that policies see, as the API server does before it asks them. Its own code is no
// library; the defaults are those that k8s.io/api 0.36.4 writes beside the fields: admissionregistration/v1/types.go and
// core/v1/types.go.
func setDefaults(object runtime.Object) {
	fail, equivalent, everywhere := admissionregistration.Fail, admissionregistration.Equivalent, admissionregistration.AllScopes
	matches := func(match *admissionregistration.MatchResources) {
		if match == nil {
			return
		}
		if match.MatchPolicy == nil {
			match.MatchPolicy = &equivalent
		}
		if match.NamespaceSelector == nil {
			match.NamespaceSelector = &metav1.LabelSelector{}
		}
		if match.ObjectSelector == nil {
			match.ObjectSelector = &metav1.LabelSelector{}
		}
		for index := range match.ResourceRules {
			if match.ResourceRules[index].Scope == nil {
				match.ResourceRules[index].Scope = &everywhere
			}
		}
	}
	switch typed := object.(type) {
	case *core.Pod:
		if typed.Spec.SecurityContext == nil {
			typed.Spec.SecurityContext = &core.PodSecurityContext{}
		}
	case *admissionregistration.ValidatingAdmissionPolicy:
		if typed.Spec.FailurePolicy == nil {
			typed.Spec.FailurePolicy = &fail
		}
		matches(typed.Spec.MatchConstraints)
	case *admissionregistration.ValidatingAdmissionPolicyBinding:
		matches(typed.Spec.MatchResources)
	}
}

// newPolicies returns the admission plug-in of the API server, ready with all policies among the objects.
func newPolicies(ctx context.Context, objects []runtime.Object) (*validating.Plugin, error) {
	plugin, err := validating.NewPlugin(nil)
	if err != nil {
		return nil, err
	}
	client := fake.NewClientset(objects...)
	factory := informers.NewSharedInformerFactory(client, 0)
	plugin.SetExternalKubeClientSet(client)
	plugin.SetExternalKubeInformerFactory(factory)
	plugin.SetDynamicClient(dynamicfake.NewSimpleDynamicClient(scheme.Scheme))
	plugin.SetRESTMapper(meta.NewDefaultRESTMapper(nil))
	plugin.SetAuthorizer(authorizerfactory.NewAlwaysDenyAuthorizer())
	plugin.SetDrainedNotification(ctx.Done())
	if err := plugin.ValidateInitialization(); err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	if !plugin.WaitForReady() {
		return nil, fmt.Errorf("the admission policies are not ready")
	}
	return plugin, nil
}

func refusal(ctx context.Context, policies *validating.Plugin, pod *core.Pod) string {
	request := admission.NewAttributesRecord(
		pod, nil, core.SchemeGroupVersion.WithKind("Pod"), pod.Namespace, pod.Name,
		core.SchemeGroupVersion.WithResource("pods"), "", admission.Create, &metav1.CreateOptions{}, false,
		&user.DefaultInfo{Name: "anyone"})
	if err := policies.Validate(ctx, request, admission.NewObjectInterfacesFromScheme(scheme.Scheme)); err != nil {
		return err.Error()
	}
	return ""
}

// place returns what the scheduler's filters NodeResourcesFit, NodeAffinity and TaintToleration compute.
func place(ctx context.Context, pod *core.Pod, node *core.Node) (placement, error) {
	selected, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node)
	if err != nil {
		return placement{}, err
	}
	taint, found := scheduling.FindMatchingUntoleratedTaint(
		klog.FromContext(ctx), node.Spec.Taints, pod.Spec.Tolerations,
		func(taint *core.Taint) bool {
			return taint.Effect == core.TaintEffectNoSchedule || taint.Effect == core.TaintEffectNoExecute
		}, false)
	untolerated := ""
	if found {
		untolerated = fmt.Sprintf("%s: %s", taint.Key, taint.Value)
	}
	return placement{resource.PodRequests(pod, resource.PodResourcesOptions{}), selected, untolerated}, nil
}
