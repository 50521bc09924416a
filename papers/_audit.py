"""The audit: everything that the five papers describe, where it lives, and the test that verifies it.

One line for each item: section of the paper | item | where it lives | the test (files and names under ``tests/``), or
"papers: ROW; ROW" for the rows of RESULTS.md that measure it ("ROW / WORDS": those with these words in their claim), or
"explained: WHY". A test checks that every file and every test named here exists, and that the rows are of the same paper.
"""

import re

SOLLICH_2002 = """
2, eq. 1-2 | the SVM as a minimum of weights and hinge loss | src/softmargin/inference/map.py | inference/test_map.py::test_objective_equals_reference_qp
2, eq. 3 | the offset as a constant B^2 of the kernel; B -> infinity is the free bias | src/softmargin/kernels/_named.py | inference/test_map.py::test_large_offset_equals_svc_with_free_bias
2 | a Gaussian-process prior with the kernel as covariance | src/softmargin/generative.py | test_generative.py::test_prior_has_the_kernel_as_covariance
2 | epsilon-insensitive noise of regression, normalised | src/softmargin/likelihoods/epsilon_insensitive.py | likelihoods/test_epsilon_insensitive.py::test_density_over_the_target
2 | that density as a superposition of Gaussians (Pontil et al.) | src/softmargin/likelihoods/integrals/superposition.py | likelihoods/test_epsilon_insensitive.py::test_the_density_is_a_superposition_of_gaussians
2, eq. 4 | unnormalised likelihood with kappa(C) | src/softmargin/likelihoods/hinge.py | likelihoods/test_normalisation.py::test_kappa_of_the_hinge
2, fig. 1 | v(theta) <= 1, with 1 at the margin only | src/softmargin/likelihoods/hinge.py | likelihoods/test_normalisation.py::test_v_reaches_one_and_no_more
2, eq. 5 | the sum over data sets is less than one | src/softmargin/evidence/exact.py | evidence/test_exact.py::test_normaliser_is_the_sum_over_labelings
2, eq. 6-7 | the normalised model and its normaliser | src/softmargin/evidence/gradients.py | evidence/test_log_evidence.py::test_sampling_agrees_with_exact_values
2 | data from the model by rejection and restart | src/softmargin/generative.py | test_generative.py::test_annealing_agrees_with_rejection
2, eq. 8 | effective prior Q(theta) N^n(theta) | src/softmargin/generative.py | test_generative.py::test_effective_prior_equals_the_reweighted_prior
2, eq. 9-11 | class probability Q/v | src/softmargin/likelihoods/link.py | likelihoods/test_normalisation.py::test_links_as_published
2, eq. 12 | input density proportional to v | src/softmargin/generative.py | test_generative.py::test_annealing_agrees_with_rejection
2, eq. 13-14 | the SVM maximises the posterior; theta* = sum alpha y K | src/softmargin/inference/map.py | inference/test_map.py::test_duality_gap_on_random_problems
2 | easy, marginal and hard rows | src/softmargin/inference/map.py | inference/test_map.py::test_support_is_sorted_by_weight
2 | the logistic Gaussian-process classifier | src/softmargin/likelihoods/logistic.py | inference/test_map.py::test_logistic_equals_penalised_regression
3, fig. 2 | Ornstein-Uhlenbeck, RBF and polynomial kernels as priors | papers/_priors.py | test_papers.py::test_samples_from_priors
3 | amplitudes of 15.6 and 243 in two corners | papers/_priors.py | test_papers.py::test_samples_from_priors
3 | kernels from Chebyshev polynomials | - | explained: a conjecture in one sentence; any scikit-learn kernel object can be given
3, fig. 3 | the factor N^n narrows the gaps | papers/sollich2002.py | papers: Figure 3
4, eq. 15 | evidence P(D) = Q(D)/N | src/softmargin/evidence/_evaluate.py | evidence/test_log_evidence.py::test_sampling_agrees_with_exact_values
4, eq. 16 | posterior of the hyperparameters with a flat or given prior | src/softmargin/tuning/hyperprior.py | tuning/test_objective.py::test_value_is_criterion_plus_prior
4 | hyperparameters integrated over | src/softmargin/search/hyper_sampling.py | search/test_hyper_sampling.py::test_predictions_average_over_the_posterior_of_the_amplitude
4, eq. 17-18 | the normalised evidence is right on average, the naive one is not | papers/_surfaces.py | papers: Section 4
4, eq. 19-22 | joint evidence P(X, Y) | src/softmargin/criteria/normalised.py | criteria/test_normalised.py::test_value_is_that_of_log_evidence
4, eq. 23-24 | conditional evidence P(Y given X) | src/softmargin/criteria/normalised.py | evidence/test_exact.py::test_normaliser_is_the_sum_over_labelings
4 | the SVM depends on C K, the evidence on both | src/softmargin/criteria/_svm.py | criteria/test_leave_one_out.py::test_depends_on_the_product_of_C_and_K_only
4 | K0 -> infinity: noise-free classification, the orthant probability | src/softmargin/evidence/_evaluate.py | evidence/test_log_evidence.py::test_large_amplitude_gives_the_orthant_probability
5, eq. 25-26 | evidence per example | src/softmargin/evidence/_evaluate.py | evidence/test_log_evidence.py::test_per_example_divides_by_the_sum_of_the_weights
5, eq. 27 | naive evidence as an n-dimensional integral | src/softmargin/evidence/exact.py | evidence/test_exact.py::test_three_rows_agree_with_tensor_quadrature
5, eq. 28 | N(X) | src/softmargin/sampling/targets.py | evidence/test_exact.py::test_normaliser_is_the_sum_over_labelings
5, eq. 29-30 | the empirical distribution as a proxy: Nhat | src/softmargin/sampling/targets.py | evidence/test_log_evidence.py::test_joint_evidence_with_a_sample_of_inputs
5 | C -> 0: -ln 2 per example | src/softmargin/evidence/_evaluate.py | evidence/test_log_evidence.py::test_small_C_means_guessing
5 | both are bounded below by the naive evidence | src/softmargin/evidence/_evaluate.py | evidence/test_log_evidence.py::test_bounds_of_the_normalised_evidence
5 | ln Q*, the zeroth order | src/softmargin/inference/map.py | inference/test_map.py::test_fields_of_the_posterior
5, eq. 31 | Laplace with linear terms only | src/softmargin/inference/laplace.py | inference/test_laplace.py::test_equation_31_is_the_integral_of_the_linear_terms
5 | it diverges at alpha = 0 and C | src/softmargin/inference/laplace.py | inference/test_laplace.py::test_equation_31_diverges_where_a_row_ceases_to_be_marginal
5, eq. 32 | Laplace with the identity | src/softmargin/inference/laplace.py | inference/test_laplace.py::test_hinge_precisions_and_evidence_follow_equation_32
5 | continuous where the marginal set changes | src/softmargin/inference/laplace.py | inference/test_laplace.py::test_evidence_is_continuous_where_the_support_set_changes
5 | Monte Carlo chaining of Q, N(X) and Nhat | src/softmargin/evidence/chaining.py | evidence/test_log_evidence.py::test_sampling_agrees_with_exact_values
5 | links of a examples | src/softmargin/evidence/chaining.py | evidence/test_log_evidence.py::test_wrong_chaining_is_named
5 | eigenvector representation, small eigenvalues discarded | src/softmargin/evidence/chaining.py | evidence/test_log_evidence.py::test_sampling_agrees_with_exact_values
5 | beta representation theta = K Y beta | src/softmargin/evidence/chaining.py | evidence/test_log_evidence.py::test_sampling_agrees_with_exact_values
5 | Laplace and chaining with the normalised class probability as likelihood | src/softmargin/inference/modes/kinked_curvature.py | inference/test_laplace.py::test_normalised_hinge_against_quadrature
5 | about 1,000 sweeps a link | papers/_surfaces.py | papers: Figure 5 / sweeps
5 | gradients of Q, N(X) and Nhat by averages | src/softmargin/evidence/gradients.py | evidence/test_gradients.py::test_gradients_agree_with_differences
6, eq. 33 | class probability averaged over the posterior | src/softmargin/inference/posterior.py | estimators/test_class_prediction.py::test_averaged_probability_is_the_integral
6, eq. 34-35 | the posterior at a new input by sampling | src/softmargin/inference/sampled.py | sampling/test_posterior.py::test_new_rows_agree_with_integration
6, eq. 36 | at the posterior mean | src/softmargin/tuning/model.py | estimators/test_class_prediction.py::test_mean_and_map_probabilities_are_the_link_at_a_point
6, eq. 37 | at the SVM | src/softmargin/tuning/model.py | estimators/test_class_prediction.py::test_mean_and_map_probabilities_are_the_link_at_a_point
6 | mean weights beta, averaged once for all predictions | src/softmargin/sampling/gradients.py | sampling/test_posterior.py::test_new_rows_agree_with_integration
7, fig. 4 | the toy and its first data set | papers/_toy.py | papers: Figure 4
7, fig. 5 | evidence over l and K0, sampled and by Laplace | papers/_surfaces.py | papers: Figure 5
7, fig. 6 | evidence over C and C K0 | papers/_surfaces.py | papers: Figure 6
7, fig. 7 | a corrupted label gives a finite K0 | papers/_surfaces.py | papers: Figure 7
7, fig. 8 | the Gaussian-process classifier's evidence | papers/_surfaces.py | papers: Figure 8
7, fig. 9-10 | three class probabilities, the skewed posterior | papers/sollich2002.py | papers: Figure 9; Figure 10
7 | Pima 18.9 %, rough Laplace surface, independence of the start | papers/_gold_more.py | papers: Section 7 of Sollich (2002)
8 | is the probability at the SVM generally close to the average | papers/open_questions.py | papers: Sollich (2002), section 8 / close to the full average
8 | a cheap approximation of the normalisers | papers/open_questions.py | papers: Sollich (2002), section 8 / cheap approximation
8 | joint against conditional evidence with clustered inputs | papers/open_questions.py | papers: Sollich (2002), section 8 / clustered
8 | normalisation-insensitive hyperparameters (length scales) | papers/_surfaces.py | papers: Figure 5 / find the length scale
8 | Kwok's averaging of unnormalised probabilities | src/softmargin/criteria/kwok.py | criteria/test_kwok.py::test_moderated_outputs_agree_with_each_other_and_with_the_decision
note 3 | the gap is disfavoured for C > ln 2 only | papers/sollich2002.py | test_papers.py::test_sollich_2002_figure_1
note 5 | a logistic classifier depends on C sqrt(K0) alone | papers/_surfaces.py | papers: Figure 8 / C sqrt(K0)
note 6 | weights of the inputs that maximise the joint evidence | src/softmargin/evidence/input_weights.py | evidence/test_input_weights.py::test_weights_and_gain_agree_with_direct_maximisation
note 7 | a small diagonal term against directions without constraint | src/softmargin/sampling/reference.py | sampling/test_posterior.py::test_singular_gram_matrix_needs_no_jitter
note 8 | fluctuations between data sets of small n | papers/_surfaces.py | papers: Section 4
"""

GOLD_SOLLICH_2003 = """
2, eq. 2-3 | losses of power p = 1 and 2, the augmented weights | src/softmargin/likelihoods/squared_hinge.py | inference/test_map.py::test_objective_equals_reference_qp
2, eq. 4 | dual of the linear penalty | src/softmargin/likelihoods/hinge.py | inference/test_map.py::test_duality_gap_on_random_problems
2, eq. 5 | dual of the quadratic penalty with K + 1/C | src/softmargin/likelihoods/squared_hinge.py | inference/test_map.py::test_squared_hinge_has_no_hard_rows_and_weight_zero_is_easy
2, eq. 6 | kappa for p = 2 from theta = tanh(C theta) | src/softmargin/likelihoods/squared_hinge.py | likelihoods/test_normalisation.py::test_v_reaches_one_and_no_more
2, eq. 7 | the log posterior | src/softmargin/inference/map.py | inference/test_map.py::test_fields_of_the_posterior
2, eq. 8 | RBF kernel with one length scale an input, k0 and k_off | src/softmargin/kernels/_named.py | kernels/test_named.py::test_radial_names_start_at_the_documented_values
3.1, eq. 9 | radius-margin quantity | src/softmargin/criteria/radius_margin.py | svm/test_ball.py::test_optimality_conditions
3.1, eq. 10 | leave-one-out error, exactly | src/softmargin/criteria/svm_loo.py | criteria/test_leave_one_out.py::test_exact_is_brute_force
3.1 | training errors plus support vectors | src/softmargin/criteria/bounds.py | criteria/test_leave_one_out.py::test_bounds_are_above_the_exact_error
3.1 | Jaakkola & Haussler's bound | src/softmargin/criteria/bounds.py | criteria/test_leave_one_out.py::test_bounds_are_above_the_exact_error
3.1, eq. 11-12 | span estimate | src/softmargin/criteria/span.py | criteria/test_leave_one_out.py::test_span_is_the_formula
3.1 | the span predicts left-out margins | src/softmargin/criteria/span.py | criteria/test_leave_one_out.py::test_span_predicts_the_left_out_margins
3.1 | smoothed span with c1, c2, eta; limits of eta | src/softmargin/criteria/span.py | criteria/test_leave_one_out.py::test_span_limits
3.1, eq. 13 | GACV | src/softmargin/criteria/bounds.py | criteria/test_leave_one_out.py::test_gacv_is_the_formula
3.2, eq. 14 | the evidence | src/softmargin/evidence/exact.py | evidence/test_exact.py::test_hinge_evidence_agrees_with_integration
3.2, eq. 15-16 | Laplace evidence, p = 1 | src/softmargin/inference/laplace.py | inference/test_laplace.py::test_hinge_precisions_and_evidence_follow_equation_32
3.2 | Kwok's smoothing as an alternative | src/softmargin/criteria/kwok.py | criteria/test_kwok.py::test_curvature_is_the_second_derivative_of_the_smoothed_slack
3.2, eq. 17 | Laplace evidence, p = 2, with the smoothing a | src/softmargin/inference/laplace.py | inference/test_laplace.py::test_squared_hinge_precisions_follow_equation_17
3.3, eq. 18 | gradient in C as an average of the loss | src/softmargin/sampling/targets.py | sampling/test_samplers.py::test_averages_agree_with_integration
3.3, eq. 19-20 | gradient in kernel parameters by parts | src/softmargin/sampling/gradients.py | sampling/test_samplers.py::test_gradient_agrees_with_differences
4 | error estimates with C fixed, evidence with C learnt | papers/_gold.py | criteria/test_leave_one_out.py::test_depends_on_the_product_of_C_and_K_only
4.1 | greedy random walk, one parameter at a time | src/softmargin/search/random_walk.py | search/test_random_walk.py::test_is_greedy_and_moves_one_coordinate_at_a_time
4.1 | acceptance held close to 50 % | src/softmargin/search/random_walk.py | search/test_random_walk.py::test_the_wanted_share_of_steps_is_kept
4.1 | bounds | src/softmargin/search/random_walk.py | search/test_random_walk.py::test_never_leaves_the_bounds
4.1 | stop when steps or gains are tiny | src/softmargin/search/random_walk.py | search/test_random_walk.py::test_finds_the_maximum
4.1 | logarithmic steps, linear ones for C | src/softmargin/search/random_walk.py | search/test_random_walk.py::test_C_steps_on_its_own_scale
4.1 | start C = 1, l = 1, k0 = 1, k_off = 0.1; c1 = 5, c2 = 0, eta = 1, a = 0.1 | papers/_gold.py | test_papers.py::test_gold_and_sollich_start_where_the_paper_does
4.1 | insensitivity to the smoothing | papers/_gold_more.py | papers: Section 4.1 / smoothing
4.2, eq. 21-23 | Hybrid Monte Carlo in (K^-1 theta, p) | src/softmargin/sampling/paper.py | sampling/test_samplers.py::test_averages_agree_with_integration
4.2 | one momentum at a time by Gibbs sampling | src/softmargin/sampling/paper.py | sampling/test_calibration.py::test_the_papers_sampler_passes_with_the_flip_and_fails_without
4.2 | step size, number of steps, trajectory as settings | src/softmargin/sampling/samplers.py | sampling/test_samplers.py::test_the_time_of_a_trajectory_goes_with_1_over_C
4.2 | start at the SVM | src/softmargin/inference/hmc.py | sampling/test_posterior.py::test_chains_can_start_at_the_support_vector_machine
4.2 | 40,000 samples, the first half discarded | src/softmargin/inference/hmc.py | sampling/test_posterior.py::test_the_papers_40000_samples_of_which_half_are_discarded
4.3 | rates adapted to gradients alone; a sharp increase or a turn discards the step | src/softmargin/search/_ascent_rules.py | search/test_gradient_ascent.py::test_a_sharp_increase_or_a_change_of_direction_discards_the_step
4.3 | the direction of the vector of length scales | src/softmargin/search/_ascent_rules.py | search/test_gradient_ascent.py::test_length_scales_are_one_vector_and_a_discarded_step_is_redone_from_where_it_began
4.3 | C on its own scale | src/softmargin/search/gradient_ascent.py | search/test_gradient_ascent.py::test_C_moves_on_its_own_scale_if_asked
4.3 | random starts in the paper's ranges | papers/_gold.py | test_papers.py::test_ascents_start_at_random_in_the_papers_ranges
4.4, table 2 | cost of each criterion | papers/gold_sollich2003.py | papers: Table 2
4.4 | Hybrid Monte Carlo in a low-rank basis | papers/open_questions.py | papers: Gold & Sollich (2003), section 4.4
5.1, table 1 | the five sets, their split and standardisation | src/softmargin/datasets/_loaders.py | datasets/test_loaders.py::test_paper_sets_have_the_papers_sizes_and_standardised_inputs
5.2, fig. 1 | one walk on twonorm | papers/_gold_figures.py | papers: Figure 1
5.2 | local optima: lines between ends, spread of the ends | papers/_gold_figures.py | test_papers.py::test_pairs_of_ends_with_a_valley_between_them_are_counted
5.2, tables 3-5 | mean and best errors, earlier methods | papers/gold_sollich2003.py | test_papers.py::test_the_expected_best_of_some_trials
5.2, figs. 2-4 | histograms of the errors | papers/_gold_figures.py | papers: Figure 2; Figure 3; Figure 4
5.2 | an ensemble of local optima | src/softmargin/comparison/_ensemble.py | comparison/test_comparison.py::test_bagged_selection
5.3, figs. 5-6 | traces of an ascent; ends at a fraction of the peak | src/softmargin/search/_ascent_rules.py | search/test_gradient_ascent.py::test_the_search_ends_at_a_fraction_of_the_largest_gradient
5.3 | k0 of about 180, small k_off; k0 on the other sets | papers/_gold_more.py | papers: Section 5.3
5.3 | large k0 goes with little noise | papers/open_questions.py | papers: Gold & Sollich (2003), section 5.3
5.3.1 | vanishing gradients at large C; trajectories proportional to 1/C | papers/_sampling.py | papers: Section 5.3.1
5.3.2 | early stopping on a validation set | src/softmargin/search/gradient_ascent.py | search/test_gradient_ascent.py::test_early_stopping_returns_the_best_validated_point
6 | repeated optimisation judged by a validation set | src/softmargin/tuning/held_out.py | tuning/test_held_out.py::test_three_classes_and_restarts_can_be_validated
6 | model selection on random subsets, combined | src/softmargin/comparison/_ensemble.py | comparison/test_comparison.py::test_trials_can_see_random_subsets
"""

GAO_2003 = """
2, eq. 2.1-2.2 | epsilon-insensitive noise with its prefactor | src/softmargin/likelihoods/epsilon_insensitive.py | likelihoods/test_epsilon_insensitive.py::test_density_over_the_target
2, eq. 2.3-2.6 | the posterior and its normalising constant | src/softmargin/evidence/_evaluate.py | estimators/test_error_bars.py::test_evidence_and_mean_against_brute_force
2, eq. 2.7 | support vector regression as its maximum | src/softmargin/inference/map.py | inference/test_map.py::test_large_offset_equals_svr_with_free_bias
2 | a prior with mean zero | src/softmargin/estimators/regressor.py | estimators/test_regressor.py::test_without_center_the_prior_has_mean_zero
3, eq. 3.1-3.3 | the mean is a sum of kernels with weights w | src/softmargin/inference/posterior.py | inference/test_ep.py::test_predictions_use_the_same_gaussian_at_training_rows
3, eq. 3.4-3.6 | cavity distributions, taken as Gaussian | src/softmargin/inference/sites/gaussian.py | inference/test_gaussian.py::test_cavities_are_posteriors_without_the_row
3, eq. 3.7-3.9 | w = F/G in closed form | src/softmargin/likelihoods/integrals/tube_moments.py | likelihoods/test_tilted_moments.py::test_against_quadrature
3, eq. 3.10-3.11 | TAP equations for cavity mean and variance | src/softmargin/inference/mean_field.py | inference/test_mean_field.py::test_reaches_the_fixed_point_of_ep
3, eq. 3.12 | dw/dm (misprinted) | papers/gao2003.py | papers: Equation 3.12
4 | the iteration: eta = 0.05, M = 30, order of the updates | src/softmargin/inference/mean_field.py | inference/test_mean_field.py::test_a_parallel_run_at_the_papers_rate_cycles_and_says_so
4 | remedies: an adaptive eta, noise on the diagonal | src/softmargin/inference/mean_field.py | inference/test_mean_field.py::test_an_adaptive_rate_converges_where_the_papers_cycles
5, eq. 5.1 | variance at a new input | src/softmargin/inference/posterior.py | inference/test_gaussian.py::test_moments_match_the_dense_posterior
5, eq. 5.2 | predictive density of a target | src/softmargin/likelihoods/noise_mixture.py | likelihoods/test_noise_mixture.py::test_cdf_integrates_the_density
5, eq. 5.3 | error bars (misprinted) and their two parts | src/softmargin/machines/regression/predictive.py | estimators/test_error_bars.py::test_the_two_parts_of_the_error_bar
5 | Laplace's error bar for comparison | src/softmargin/inference/laplace.py | estimators/test_error_bars.py::test_laplaces_error_bar_has_the_precision_of_the_marginal_rows
6, fig. 1 | sinc with 40 inputs and noise of sd 0.1 | src/softmargin/datasets/_generators.py | test_papers.py::test_gao_figure_1
6, figs. 2-3 | error bars, six values of C | papers/gao2003.py | papers: Figure 2; Figure 3
7 | C and epsilon adapted to the data | src/softmargin/estimators/regressor.py | estimators/test_error_bars.py::test_recovers_the_noise
"""

SOLLICH_2000 = """
1, eq. 1-6 | the probabilistic framework | - | explained: that of Sollich (2002), eqs. 1 to 14, above
2, eq. 7 | the evidence and its normaliser N^n | src/softmargin/evidence/gradients.py | evidence/test_gradients.py::test_gradients_agree_with_differences
2, eq. 8 | the Laplace estimate of the naive evidence | src/softmargin/inference/laplace.py | inference/test_laplace.py::test_equation_31_is_the_integral_of_the_linear_terms
2, fig. 2 | evidence along C K0 = 2.5 and the class probability at its maximum | papers/sollich2000.py | papers: Figure 2
note 4 | training inputs as a proxy for the density of inputs | papers/sollich2000.py | papers: Note 4
note 4 | a subset of 30 training inputs as a proxy | src/softmargin/evidence/gradients.py | test_papers.py::test_thirty_inputs_stand_for_all_in_the_normaliser
2 | the optimal Gaussian has the covariance (D + K^-1)^-1 with a diagonal D | src/softmargin/inference/variational.py | inference/test_variational.py::test_no_nearby_gaussian_is_better
"""

KWOK_1999 = """
2-3 | SVM as level 1 of the evidence framework | src/softmargin/criteria/kwok.py | criteria/test_kwok.py::test_levels_follow_the_eigenvalues
4.1 | the separable case takes the largest multiplier | src/softmargin/criteria/kwok.py | criteria/test_kwok.py::test_separable_case_takes_the_largest_alpha
4.2 | Hessian of the smoothed slack, r(u) | src/softmargin/criteria/kwok.py | criteria/test_kwok.py::test_curvature_is_the_second_derivative_of_the_smoothed_slack
4.2 | eigenvalues of the weighted Gram matrix | src/softmargin/criteria/kwok.py | criteria/test_kwok.py::test_levels_follow_the_eigenvalues
4.3 | levels 2 and 3, gamma | src/softmargin/criteria/kwok.py | criteria/test_kwok.py::test_levels_follow_the_eigenvalues
4.3 | truncation of small eigenvalues | src/softmargin/criteria/kwok.py | explained: not needed; their number cancels between the two terms
5.1, fig. 1 | evidence of C against accuracy and slack | papers/kwok1999.py | test_papers.py::test_kwok_figure_1
5.2, fig. 2 | evidence of the degree, C by the fixed point | src/softmargin/comparison/_kwok.py | comparison/test_comparison.py::test_direct_choice_of_C_is_the_maximum_and_the_fixed_point_is_fixed
6 | error bars and moderated outputs | src/softmargin/criteria/kwok.py | criteria/test_kwok.py::test_moderated_outputs_agree_with_each_other_and_with_the_decision
"""

AUDIT = {
    "Sollich (2002)": SOLLICH_2002,
    "Gold & Sollich (2003)": GOLD_SOLLICH_2003,
    "Gao, Gunn & Harris (2003)": GAO_2003,
    "Sollich (2000)": SOLLICH_2000,
    "Kwok (1999)": KWOK_1999,
}


def rows() -> list[tuple[str, str, str, str, str]]:
    """(paper, section, item, where it lives, check) of every item."""
    found = []
    for paper, text in AUDIT.items():
        for line in text.strip().splitlines():
            section, item, where, check = (part.strip() for part in line.split(" | "))
            found.append((paper, section, item, where, check))
    return found


SCRIPTS = {
    "Sollich (2002)": "sollich2002",
    "Gold & Sollich (2003)": "gold_sollich2003",
    "Gao, Gunn & Harris (2003)": "gao2003",
    "Sollich (2000)": "sollich2000",
    "Kwok (1999)": "kwok1999",
}


def verdicts(paper: str, row: str, sections: dict[str, str]) -> list[str]:
    """The verdicts of the rows that a check names: of the paper's own section, or of others that name the paper.

    Parameters
    ----------
    paper, row : str
        As in `AUDIT`: "ROW", or "ROW / WORDS" for the rows with these words in their claim.
    sections : dict
        Script name -> Markdown of its section of the summary.
    """
    item, _, words = row.partition(" / ")
    own = {SCRIPTS[paper]} if paper not in item else sections.keys()
    lines = [line for name, text in sections.items() if name in own for line in text.splitlines()]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines if line.startswith("|")]
    return [found[4] for found in cells if len(found) == 6 and found[0] == item and words in found[1]]


def _count(found: list[str]) -> str:
    """ "2 yes, 1 no" of verdicts, in the order of their first appearance."""
    return ", ".join(f"{found.count(name)} {name}" for name in dict.fromkeys(found))


def appendix(sections: dict[str, str]) -> str:
    """The audit in Markdown, with the verdicts of the rows that items rest on.

    Parameters
    ----------
    sections : dict
        Script name -> Markdown of its section of the summary.
    """
    items = rows()
    tests = sum("::" in row[4] for row in items)
    measured = sum(row[4].startswith("papers:") for row in items)
    head = (
        f"## Appendix: what the papers describe, where it lives, and what verifies it\n\n{len(items)} items: {tests} "
        f"verified by a test, {measured} by rows above, {len(items) - tests - measured} explained. An item that rests on "
        'rows has their verdicts behind it: "no" says that we measured it and found otherwise.\n\n'
    )
    table = [("paper", "section", "item", "where", "check"), ("---",) * 5]
    for paper, section, item, where, check in items:
        shown = f"`tests/{check}`" if "::" in check else check
        if check.startswith("papers: "):
            found = [v for row in check.removeprefix("papers: ").split("; ") for v in verdicts(paper, row, sections)]
            shown += f" ({_count(found)})"
        table.append((paper, section, item, "" if where == "-" else f"`{where}`", shown))
    return head + "\n".join("| " + " | ".join(row) + " |" for row in table) + "\n"
